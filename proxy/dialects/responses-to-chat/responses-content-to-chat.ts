/** The content of a message, from the parts of the Responses API to those of chat completions. */
import { isAbsent } from "../../../shared/assert.js";
import { quote, type RequestCheck } from "../translation/request-check.js";
import { splitToolResult } from "../translation/tool-result.js";
import type { JsonObject } from "../translation/translation.js";

/** Whose content it is: each may say other things in chat completions. */
export type Speaker = "system" | "user" | "assistant" | "tool";

/** What the output of a tool holds, and what of it a message of the user has to say. */
export interface ToolOutput {
  readonly content: string | readonly JsonObject[];
  readonly attached: readonly JsonObject[];
}

type Part = Record<string, unknown>;

interface PartKind {
  readonly speakers: ReadonlySet<Speaker>;
  readonly known: ReadonlySet<string>;
  /** A part of another kind may be made of it, or a refusal. */
  readonly translate: (part: JsonObject, path: string, check: RequestCheck) => Part | undefined;
}

const everybody: ReadonlySet<Speaker> = new Set(["system", "user", "assistant", "tool"]);
const userAlone: ReadonlySet<Speaker> = new Set(["user"]);
const userAndTool: ReadonlySet<Speaker> = new Set(["user", "tool"]);

const partKinds: ReadonlyMap<string, PartKind> = new Map([
  [
    "input_text",
    {
      speakers: everybody,
      known: new Set(["type", "text", "prompt_cache_breakpoint"]),
      translate: textPart,
    },
  ],
  // Annotations and log probabilities are remarks on what was said earlier; `parsed` is what
  // OpenAI's SDK has made of it.
  [
    "output_text",
    {
      speakers: everybody,
      known: new Set(["type", "text", "annotations", "logprobs", "parsed"]),
      translate: textPart,
    },
  ],
  [
    "refusal",
    {
      speakers: new Set<Speaker>(["assistant"]),
      known: new Set(["type", "refusal"]),
      translate: refusalPart,
    },
  ],
  [
    "input_image",
    {
      speakers: userAndTool,
      known: new Set(["type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"]),
      translate: imagePart,
    },
  ],
  [
    "input_file",
    {
      speakers: userAndTool,
      known: new Set([
        "type",
        "file_data",
        "file_id",
        "file_url",
        "filename",
        "detail",
        "prompt_cache_breakpoint",
      ]),
      translate: filePart,
    },
  ],
  [
    "input_audio",
    { speakers: userAlone, known: new Set(["type", "input_audio"]), translate: audioPart },
  ],
]);

/**
 * A text, or a list of parts. One plain text and no text at all become a string: that says the
 * same, and many providers take nothing else from anybody but the user.
 */
export function responsesContentToChat(
  content: unknown,
  path: string,
  speaker: Speaker,
  check: RequestCheck,
): string | readonly JsonObject[] | undefined {
  if (typeof content === "string") return content;
  if (!isAbsent(content) && !Array.isArray(content))
    return check.refuse(path, `must be a string or an array, not ${quote(content)}`);
  const parts = translateParts(check.list(content, path), path, speaker, check);
  return parts === undefined ? undefined : plainContent(parts);
}

/** The same for a tool. */
export function toolOutputToChat(
  output: unknown,
  path: string,
  callId: string,
  check: RequestCheck,
): ToolOutput | undefined {
  const content = responsesContentToChat(output, path, "tool", check);
  if (content === undefined) return undefined;
  if (typeof content === "string") return { content, attached: [] };
  const { texts, attached } = splitToolResult(content, callId);
  return { content: attached.length === 0 ? content : plainContent(texts), attached };
}

function translateParts(
  given: readonly unknown[] | undefined,
  path: string,
  speaker: Speaker,
  check: RequestCheck,
): readonly Part[] | undefined {
  if (given === undefined) return undefined;
  const parts: Part[] = [];
  for (let i = 0; i < given.length; i++) {
    const part = translatePart(given[i], `${path}[${i}]`, speaker, check);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function plainContent(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const [first] = parts;
  if (first === undefined) return "";
  const plain =
    parts.length === 1 &&
    first["type"] === "text" &&
    first["prompt_cache_breakpoint"] === undefined;
  return plain ? (first["text"] as string) : parts;
}

function translatePart(
  value: unknown,
  path: string,
  speaker: Speaker,
  check: RequestCheck,
): Part | undefined {
  const type = check.object(value, path)?.["type"];
  if (type === undefined) return check.refuse(`${path}.type`, "is required");
  const kind = typeof type === "string" ? partKinds.get(type) : undefined;
  if (kind === undefined)
    return check.refuse(
      `${path}.type`,
      `must be one of ${[...partKinds.keys()].join(", ")}, not ${quote(type)}`,
    );
  if (!kind.speakers.has(speaker))
    return check.refuse(
      path,
      `can't be passed on: this provider only has chat completions, where ${placeOf(speaker)} can't hold ${quote(type)}`,
    );
  const part = check.fields(value, path, kind.known);
  if (part === undefined) return undefined;
  const translated = kind.translate(part, path, check);
  const breakpoint = part["prompt_cache_breakpoint"];
  if (translated !== undefined && !isAbsent(breakpoint))
    translated["prompt_cache_breakpoint"] = breakpoint;
  return translated;
}

function placeOf(speaker: Speaker): string {
  return speaker === "tool" ? "the output of a tool" : `a message of the ${speaker}`;
}

function textPart(part: JsonObject, path: string, check: RequestCheck): Part {
  return { type: "text", text: check.string(part["text"], `${path}.text`) };
}

function refusalPart(part: JsonObject, path: string, check: RequestCheck): Part {
  return { type: "refusal", refusal: check.string(part["refusal"], `${path}.refusal`) };
}

function imagePart(part: JsonObject, path: string, check: RequestCheck): Part | undefined {
  if (!isAbsent(part["file_id"]))
    return check.refuse(
      `${path}.file_id`,
      "can't be passed on: chat completions take an image by image_url only",
    );
  const image: Record<string, unknown> = {
    url: check.string(part["image_url"], `${path}.image_url`),
  };
  const detail = part["detail"];
  if (!isAbsent(detail)) {
    if (detail !== "auto" && detail !== "low" && detail !== "high")
      return check.refuse(
        `${path}.detail`,
        `must be auto, low or high for chat completions, not ${quote(detail)}`,
      );
    image["detail"] = detail;
  }
  return { type: "image_url", image_url: image };
}

function filePart(part: JsonObject, path: string, check: RequestCheck): Part | undefined {
  if (!isAbsent(part["file_url"]))
    return check.refuse(
      `${path}.file_url`,
      "can't be passed on: chat completions take a file by file_data or file_id only",
    );
  const { detail } = part;
  if (!isAbsent(detail) && detail !== "auto")
    return check.refuse(
      `${path}.detail`,
      "can't be passed on: chat completions have no such field for files",
    );
  if (isAbsent(part["file_data"]) && isAbsent(part["file_id"]))
    return check.refuse(`${path}.file_data`, "or file_id is required");
  const file: Record<string, unknown> = {};
  for (const key of ["file_data", "file_id", "filename"]) {
    if (!isAbsent(part[key])) file[key] = check.string(part[key], `${path}.${key}`);
  }
  return { type: "file", file };
}

function audioPart(part: JsonObject, path: string, check: RequestCheck): Part {
  return {
    type: "input_audio",
    input_audio: check.object(part["input_audio"], `${path}.input_audio`),
  };
}
