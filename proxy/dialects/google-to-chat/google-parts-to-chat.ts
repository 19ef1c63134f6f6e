/** Translates the parts of Gemini's own API, except calls, to the parts of a chat message. */
import { isAbsent } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import { type ChatContent, failedContent } from "../shared/chat-request.js";
import {
  isTextType,
  isWebUrl,
  namelessPdf,
  namelessText,
  writeDataUrl,
} from "../shared/data-url.js";
import type { RequestReader } from "../shared/request-reader.js";
import type { JsonObject } from "../shared/translation.js";
import { camelFields } from "./google-request-fields.js";

/** Null for an empty part, and for a part that is refused. */
export function googlePartToChat(
  part: JsonObject,
  path: string,
  reader: RequestReader,
): JsonObject | null {
  if (!isAbsent(part["text"])) {
    const text = reader.text(part["text"], `${path}.text`);
    return text === "" ? null : { type: "text", text };
  }
  if (!isAbsent(part["inlineData"])) return inlineData(part["inlineData"], path, reader);
  if (!isAbsent(part["fileData"])) return fileData(part["fileData"], path, reader);
  return null;
}

function inlineData(value: unknown, partAt: string, reader: RequestReader): JsonObject | null {
  const path = `${partAt}.inlineData`;
  const blob = camelFields(reader.object(value, path));
  const type = reader.text(blob["mimeType"], `${path}.mimeType`);
  const mediaType = type.toLowerCase().split(";", 1)[0]!.trim();
  const base64 = plainBase64(reader.text(blob["data"], `${path}.data`));
  const name = isAbsent(blob["displayName"])
    ? null
    : reader.text(blob["displayName"], `${path}.displayName`);
  if (mediaType.startsWith("image/"))
    return { type: "image_url", image_url: { url: writeDataUrl({ mediaType, base64 }) } };
  if (mediaType === "application/pdf")
    return filePart(writeDataUrl({ mediaType, base64 }), name ?? namelessPdf);
  if (isTextType(mediaType))
    return filePart(writeDataUrl({ mediaType: "text/plain", base64 }), name ?? namelessText);
  const format = audioFormats.get(mediaType);
  if (format !== undefined) return { type: "input_audio", input_audio: { data: base64, format } };
  reader.unsupported(
    `${path}.mimeType`,
    "must be of an image, a PDF, a text, or audio in WAV or MP3",
    "which takes no other media",
  );
  return null;
}

function filePart(data: string, filename: string): JsonObject {
  return { type: "file", file: { filename, file_data: data } };
}

/** OpenAI's names for the audio formats that it accepts. */
const audioFormats: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/mp3", "mp3"],
  ["audio/mpeg", "mp3"],
  ["audio/mpga", "mp3"],
]);

/** Bytes in JSON may use the URL-safe alphabet, which `data:` URLs don't allow. */
function plainBase64(data: string): string {
  return /[-_]/.test(data) ? data.replaceAll("-", "+").replaceAll("_", "/") : data;
}

function fileData(value: unknown, partAt: string, reader: RequestReader): JsonObject | null {
  const path = `${partAt}.fileData`;
  const file = camelFields(reader.object(value, path));
  const url = reader.text(file["fileUri"], `${path}.fileUri`);
  const type = isAbsent(file["mimeType"]) ? "" : reader.text(file["mimeType"], `${path}.mimeType`);
  if (isWebUrl(url) && !isGoogleFile.test(url) && type.toLowerCase().startsWith("image/"))
    return { type: "image_url", image_url: { url } };
  if (isWebUrl(url) && !isGoogleFile.test(url) && isPdf.test(type) && reader.takesFileUrls)
    return { type: "file", file: { file_url: url } };
  reader.unsupported(
    `${path}.fileUri`,
    "must be the address of an image in the web",
    "which has no access to Google's files: send inlineData",
  );
  return null;
}

const isPdf = /^application\/pdf$/i;

/** Matches a file that was uploaded to Google. Only the key of its owner can read it. */
const isGoogleFile = /^https:\/\/generativelanguage\.googleapis\.com\//i;

interface ResultContent {
  readonly content: ChatContent;
  /** Images and files beside the content. */
  readonly parts: readonly JsonObject[];
}

export function googleResultContent(
  result: JsonObject,
  path: string,
  reader: RequestReader,
): ResultContent {
  const { response: responseField, parts: media } = result;
  const response = isAbsent(responseField) ? {} : reader.object(responseField, `${path}.response`);
  const list = isAbsent(media) ? [] : reader.list(media, `${path}.parts`);
  const parts: JsonObject[] = [];
  for (const [i, item] of list.entries()) {
    const part = camelFields(reader.object(item, `${path}.parts[${i}]`));
    const translated = googlePartToChat(part, `${path}.parts[${i}]`, reader);
    if (translated !== null) parts.push(translated);
  }
  return { content: responseText(response), parts };
}

/** A text alone stays a text; everything else becomes JSON, as the model would see it at Google. */
function responseText(response: JsonObject): ChatContent {
  const [only, ...furtherMembers] = Object.entries(response);
  if (only !== undefined && furtherMembers.length === 0 && typeof only[1] === "string") {
    if (only[0] === "error") return failedContent(only[1]);
    if (only[0] === "output" || only[0] === "result") return only[1];
  }
  return writeExactly(response);
}
