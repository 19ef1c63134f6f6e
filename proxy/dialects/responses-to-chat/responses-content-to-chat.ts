/**
 * Translates the content of a message or of a tool output: parts of the Responses API to chat
 * parts.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { splitToolResult } from "../shared/chat-request.js";
import { quote, type RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";

/** The owner of the content: chat completions allow different parts in each role. */
type ContentRole = "system" | "user" | "assistant" | "tool";

export type Content = string | readonly JsonObject[];

/** `attached`: the parts that a tool message can't hold, for a user message after it. */
export interface ToolOutput {
  readonly content: Content;
  readonly attached: readonly JsonObject[];
}

type Part = Record<string, unknown>;

interface PartKind {
  readonly roles: ReadonlySet<ContentRole>;
  readonly fields: ReadonlySet<string>;
  /** Undefined if the part was refused. */
  readonly translate: (part: JsonObject, path: string, check: RequestCheck) => Part | undefined;
}

const allRoles: ReadonlySet<ContentRole> = new Set(["system", "user", "assistant", "tool"]);
const userAndTool: ReadonlySet<ContentRole> = new Set(["user", "tool"]);

const partKinds: ReadonlyMap<string, PartKind> = new Map([
  [
    "input_text",
    {
      roles: allRoles,
      fields: new Set(["type", "text", "prompt_cache_breakpoint"]),
      translate: textPart,
    },
  ],
  // Not read: annotations and log probabilities, which describe earlier content, and `parsed`,
  // which OpenAI's SDK adds.
  [
    "output_text",
    {
      roles: allRoles,
      fields: new Set(["type", "text", "annotations", "logprobs", "parsed"]),
      translate: textPart,
    },
  ],
  // Parts of chat completions, which some clients keep when they change the API.
  ["text", { roles: allRoles, fields: new Set(["type", "text"]), translate: textPart }],
  [
    "image_url",
    { roles: userAndTool, fields: new Set(["type", "image_url"]), translate: chatImagePart },
  ],
  [
    "refusal",
    {
      roles: new Set<ContentRole>(["assistant"]),
      fields: new Set(["type", "refusal"]),
      translate: refusalPart,
    },
  ],
  [
    "input_image",
    {
      roles: userAndTool,
      fields: new Set(["type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"]),
      translate: imagePart,
    },
  ],
  [
    "input_file",
    {
      roles: userAndTool,
      fields: new Set([
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
    {
      roles: new Set<ContentRole>(["user"]),
      fields: new Set(["type", "input_audio"]),
      translate: audioPart,
    },
  ],
]);

/**
 * A string or a list of parts. No part, or a single plain text, becomes a string: it means the
 * same, and many providers accept lists only in user messages.
 */
export function responsesContentToChat(
  content: unknown,
  path: string,
  role: ContentRole,
  check: RequestCheck,
): Content | undefined {
  if (typeof content === "string") return content;
  if (!isAbsent(content) && !Array.isArray(content))
    return check.refuse(path, `must be a string or an array, not ${quote(content)}`);
  const parts = translateParts(check.list(content, path), path, role, check);
  return parts === undefined ? undefined : plainContent(parts);
}

/** Texts stay in the tool message; other parts are attached. */
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
  clientParts: readonly unknown[] | undefined,
  path: string,
  role: ContentRole,
  check: RequestCheck,
): readonly Part[] | undefined {
  if (clientParts === undefined) return undefined;
  const parts: Part[] = [];
  for (let i = 0; i < clientParts.length; i++) {
    const part = translatePart(clientParts[i], `${path}[${i}]`, role, check);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function plainContent(parts: readonly JsonObject[]): Content {
  const [first] = parts;
  if (first === undefined) return "";
  const isPlain =
    parts.length === 1 &&
    first["type"] === "text" &&
    first["prompt_cache_breakpoint"] === undefined;
  return isPlain ? (first["text"] as string) : parts;
}

function translatePart(
  value: unknown,
  path: string,
  role: ContentRole,
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
  if (!kind.roles.has(role))
    return check.refuse(
      path,
      `can't be passed on: this provider only has chat completions, where ${roleText(role)} can't hold ${quote(type)}`,
    );
  const part = check.fields(value, path, kind.fields);
  if (part === undefined) return undefined;
  const translated = kind.translate(part, path, check);
  const breakpoint = part["prompt_cache_breakpoint"];
  if (translated !== undefined && !isAbsent(breakpoint))
    translated["prompt_cache_breakpoint"] = breakpoint;
  return translated;
}

function roleText(role: ContentRole): string {
  return role === "tool" ? "a tool output" : `a message of the role ${role}`;
}

function textPart(part: JsonObject, path: string, check: RequestCheck): Part {
  return { type: "text", text: check.string(part["text"], `${path}.text`) };
}

function refusalPart(part: JsonObject, path: string, check: RequestCheck): Part {
  return { type: "refusal", refusal: check.string(part["refusal"], `${path}.refusal`) };
}

/** Chat completions know no `original`, which Codex writes for images that it has viewed. */
const details: ReadonlyMap<unknown, string> = new Map([
  ["auto", "auto"],
  ["low", "low"],
  ["high", "high"],
  ["original", "high"],
]);

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
    if (!details.has(detail))
      return check.refuse(
        `${path}.detail`,
        `must be ${[...details.keys()].join(", ")}, not ${quote(detail)}`,
      );
    image["detail"] = details.get(detail);
  }
  return { type: "image_url", image_url: image };
}

function chatImagePart(part: JsonObject, path: string, check: RequestCheck): Part | undefined {
  const { image_url: image } = part;
  if (!isObject(image)) return imagePart(part, path, check);
  return imagePart({ image_url: image["url"], detail: image["detail"] }, path, check);
}

function filePart(part: JsonObject, path: string, check: RequestCheck): Part | undefined {
  const isAddressed = !isAbsent(part["file_url"]);
  if (isAddressed && !check.takesFileUrls)
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
  if (!isAddressed && isAbsent(part["file_data"]) && isAbsent(part["file_id"]))
    return check.refuse(`${path}.file_data`, "or file_id is required");
  const file: Record<string, unknown> = {};
  for (const key of ["file_data", "file_id", "file_url", "filename"]) {
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
