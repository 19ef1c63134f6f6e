/** Translates the content of a chat message to Anthropic's content blocks. */
import { isAbsent } from "../../../shared/checked.js";
import {
  decodedText,
  isWebUrl,
  namelessPdf,
  namelessText,
  readDocument,
  readImage,
} from "../shared/data-url.js";
import type { RequestReader } from "../shared/request-reader.js";
import type { JsonObject } from "../shared/translation.js";
import { chatFileFields, chatImageFields, chatPartFields } from "./chat-request-fields.js";

/** The parts that each role may have. */
const parts = {
  system: ["text"],
  user: ["text", "image_url", "file"],
  assistant: ["text", "refusal"],
  tool: ["text", "image_url", "file"],
} as const;

/** Leaves out blank texts, because Anthropic refuses them. */
export function chatContentToMessages(
  content: unknown,
  role: keyof typeof parts,
  param: string,
  reader: RequestReader,
): JsonObject[] {
  const list = reader.content(content, param);
  if (typeof list === "string") return isBlank(list) ? [] : [textBlock(list)];
  const blocks: JsonObject[] = [];
  for (const [i, value] of list.entries()) {
    const block = toBlock(value, role, `${param}[${i}]`, reader);
    if (block !== null) blocks.push(block);
  }
  return blocks;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

export function textBlock(text: string): JsonObject {
  return { type: "text", text };
}

function toBlock(
  value: unknown,
  role: keyof typeof parts,
  path: string,
  reader: RequestReader,
): JsonObject | null {
  const part = reader.object(value, path);
  reader.fields(part, chatPartFields, `${path}.`);
  const type = reader.partType(part, path, role, parts[role]);
  if (type === null) return null;
  const block = toBareBlock(type, part, path, reader);
  const mark = part["cache_control"] ?? openaiMark(part);
  return block === null || isAbsent(mark) ? block : Object.assign(block, { cache_control: mark });
}

/** The breakpoint of a client that marks one in OpenAI's way. */
function openaiMark(part: JsonObject): JsonObject | null {
  return isAbsent(part["prompt_cache_breakpoint"]) ? null : { type: "ephemeral" };
}

function toBareBlock(
  type: string,
  part: JsonObject,
  path: string,
  reader: RequestReader,
): JsonObject | null {
  switch (type) {
    case "image_url":
      return imageBlock(part["image_url"], `${path}.image_url`, reader);
    case "file":
      return documentBlock(part["file"], `${path}.file`, reader);
    default: {
      const text = reader.text(part[type], `${path}.${type}`);
      return isBlank(text) ? null : textBlock(text);
    }
  }
}

const imageTypes: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

function imageBlock(value: unknown, path: string, reader: RequestReader): JsonObject | null {
  // Some clients write the address in place of the object (laurent22/joplin#16141).
  const image = typeof value === "string" ? { url: value } : reader.object(value, path);
  reader.fields(image, chatImageFields, `${path}.`);
  const url = reader.text(image["url"], `${path}.url`);
  const image64 = readImage(url);
  if (image64 !== null) {
    const { mediaType, base64 } = image64;
    if (!imageTypes.includes(mediaType))
      reader.unsupported(
        `${path}.url`,
        `must be an image of the type ${imageTypes.join(", ")}`,
        "which takes no other images",
      );
    return {
      type: "image",
      source: { type: "base64", media_type: mediaType, data: base64 },
    };
  }
  if (isWebUrl(url)) return { type: "image", source: { type: "url", url } };
  reader.refuse(`${path}.url`, "must be a base64 data URL of an image, or an http or https URL");
  return null;
}

function documentBlock(value: unknown, path: string, reader: RequestReader): JsonObject | null {
  const file = reader.object(value, path);
  reader.fields(file, chatFileFields, `${path}.`);
  if (!isAbsent(file["file_url"])) {
    const url = reader.text(file["file_url"], `${path}.file_url`);
    return { type: "document", source: { type: "url", url } };
  }
  const data = readDocument(reader.text(file["file_data"], `${path}.file_data`));
  const title = isAbsent(file["filename"]) ? "" : reader.text(file["filename"], `${path}.filename`);
  const block: Record<string, unknown> = { type: "document" };
  const text = data === null ? null : decodedText(data);
  if (data?.mediaType === "application/pdf")
    block["source"] = { type: "base64", media_type: data.mediaType, data: data.base64 };
  else if (text !== null) block["source"] = { type: "text", media_type: "text/plain", data: text };
  else {
    reader.unsupported(
      `${path}.file_data`,
      "must be a data URL of a PDF or of a text",
      "which accepts no other documents",
    );
    return null;
  }
  if (title !== "" && title !== namelessPdf && title !== namelessText) block["title"] = title;
  return block;
}
