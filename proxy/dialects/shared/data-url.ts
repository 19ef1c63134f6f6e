/** `data:` URLs, in which chat completions carry images and files. */
import { isObject } from "../../../shared/checked.js";
import { isUtf8Text } from "../../body/model-body.js";
import type { JsonObject } from "./translation.js";

interface DataUrl {
  /** The type in lower case, without parameters. */
  readonly mediaType: string;
  readonly base64: string;
}

/**
 * Null for anything but a `data:` URL. The provider checks the base64; a URL in percent-encoding is
 * turned into it.
 */
export function readDataUrl(url: string): DataUrl | null {
  const comma = url.indexOf(",");
  if (comma === -1 || url.slice(0, 5).toLowerCase() !== "data:") return null;
  const [mediaType = "", ...parameters] = url.slice(5, comma).toLowerCase().split(";");
  const data = url.slice(comma + 1);
  const base64 = parameters.at(-1)?.trim() === "base64" ? data : decodedBase64(data);
  return base64 === null ? null : { mediaType: mediaType.trim(), base64 };
}

function decodedBase64(encoded: string): string | null {
  try {
    return Buffer.from(decodeURIComponent(encoded)).toString("base64");
  } catch {
    // A percent sign in it encodes no character.
    return null;
  }
}

/** The text in a `data:` URL; null if its type isn't one of a text. */
export function decodedText({ mediaType, base64 }: DataUrl): string | null {
  return isTextType(mediaType) ? Buffer.from(base64, "base64").toString("utf8") : null;
}

/** Matches the types of tables, Markdown, source code and the like. */
const textType =
  /^text\/|^application\/(?:json|jsonl|x-ndjson|xml|ya?ml|x-ya?ml|toml|javascript|x-sh|sql)$|\+(?:json|xml)$/;

export function isTextType(mediaType: string): boolean {
  return textType.test(mediaType);
}

/** A chat's file as a text part, below its name; null if it isn't a text. */
export function fileAsText(part: unknown): JsonObject | null {
  if (!isObject(part) || part["type"] !== "file" || !isObject(part["file"])) return null;
  const { file_data: url, filename: name } = part["file"];
  const data = typeof url === "string" ? readDataUrl(url) : null;
  const text = data === null ? null : decodedText(data);
  if (text === null) return null;
  const isNamed = typeof name === "string" && name !== "" && name !== namelessText;
  return { type: "text", text: isNamed ? `${name}\n${text}` : text };
}

/**
 * The image in a `data:` URL or in bare base64; null if it is neither. Its first bytes decide its
 * media type if they show it: senders often leave it out or give a wrong one, and `image/jpg` isn't
 * a type.
 */
export function readImage(url: string): DataUrl | null {
  const { mediaType, base64 } = readDataUrl(url) ?? { mediaType: "", base64: url };
  const match = imageBeginnings.find(([beginning]) => beginning.test(base64));
  if (match !== undefined) return { mediaType: match[1], base64 };
  if (!mediaType.startsWith("image/")) return null;
  return { mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType, base64 };
}

/**
 * The document in a `data:` URL or in bare base64. Without a media type it is a PDF by its first
 * bytes, or a text if its bytes are one. Null if it is neither.
 */
export function readDocument(url: string): DataUrl | null {
  const data = readDataUrl(url) ?? { mediaType: "", base64: url };
  if (data.mediaType !== "" && data.mediaType !== "application/octet-stream") return data;
  const { base64 } = data;
  if (base64.startsWith("JVBERi0")) return { mediaType: "application/pdf", base64 };
  const bytes = Buffer.from(base64, "base64");
  return bytes.length > 0 && isUtf8Text(bytes) ? { mediaType: "text/plain", base64 } : null;
}

/** The first bytes of images, in base64. */
const imageBeginnings: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, "image/jpeg"],
  [/^iVBORw0KGg/, "image/png"],
  [/^R0lGOD/, "image/gif"],
  [/^UklGR.{6}XRUJQ/, "image/webp"],
];

export function writeDataUrl({ mediaType, base64 }: DataUrl): string {
  return `data:${mediaType};base64,${base64}`;
}

export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/** Names for documents without a title, because chat completions require a name. */
export const namelessPdf = "document.pdf";
export const namelessText = "document.txt";
