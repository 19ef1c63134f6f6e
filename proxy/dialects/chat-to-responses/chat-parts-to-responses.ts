/** Translates the content of a chat message to the parts of an item of the Responses API. */
import { isAbsent } from "../../../shared/checked.js";
import type { RequestReader } from "../shared/request-reader.js";
import type { JsonObject } from "../shared/translation.js";
import { chatPartFields } from "./chat-fields.js";

/** The parts that each role may have. */
const parts = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "file", "input_audio"],
  assistant: ["text", "refusal"],
  tool: ["text", "image_url", "file"],
} as const;

type Role = keyof typeof parts;

/** Leaves out empty texts. */
export function chatContentToResponses(
  content: unknown,
  role: Role,
  path: string,
  reader: RequestReader,
): JsonObject[] {
  const parsed = reader.content(content, path);
  const list = typeof parsed === "string" ? [{ type: "text", text: parsed }] : parsed;
  const out: JsonObject[] = [];
  for (const [i, rawPart] of list.entries()) {
    const part = toPart(rawPart, role, `${path}[${i}]`, reader);
    if (part["text"] !== "") out.push(part);
  }
  return out;
}

function toPart(value: unknown, role: Role, path: string, reader: RequestReader): JsonObject {
  const part = reader.object(value, path);
  reader.fields(part, chatPartFields, `${path}.`);
  const type = reader.partType(part, path, role, parts[role]);
  if (type === null) return {};
  const textType = role === "assistant" ? "output_text" : "input_text";
  const flat = flatPart(type === "text" ? textType : type, part, path, reader);
  const { prompt_cache_breakpoint: breakpoint } = part;
  return isAbsent(breakpoint) ? flat : { ...flat, prompt_cache_breakpoint: breakpoint };
}

function flatPart(type: string, part: JsonObject, path: string, reader: RequestReader): JsonObject {
  switch (type) {
    case "image_url": {
      const { image_url: image } = part;
      const { url, detail } =
        typeof image === "string"
          ? { url: image, detail: null }
          : reader.object(image, `${path}.image_url`);
      const image_url = reader.text(url, `${path}.image_url.url`);
      return { type: "input_image", image_url, detail: detail ?? "auto" };
    }
    case "file":
      return { type: "input_file", ...fileFields(part["file"], `${path}.file`, reader) };
    case "input_audio":
      return { type, input_audio: reader.object(part["input_audio"], `${path}.input_audio`) };
    case "refusal":
      return { type, refusal: reader.text(part["refusal"], `${path}.refusal`) };
    default:
      return { type, text: reader.text(part["text"], `${path}.text`) };
  }
}

function fileFields(value: unknown, path: string, reader: RequestReader): JsonObject {
  const file = reader.object(value, path);
  const out: Record<string, unknown> = {};
  for (const field of ["file_data", "file_id", "file_url", "filename"])
    if (!isAbsent(file[field])) out[field] = reader.text(file[field], `${path}.${field}`);
  return out;
}
