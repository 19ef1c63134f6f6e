/**
 * Converts a chat request to the form of chat completions. Clients mix in pieces of other dialects:
 * Cursor writes some or all tools and parts as in the Responses API, and for Claude as in
 * Anthropic's (BerriAI/litellm#34029, su-kaka/gcli2api#218, askalf/dario#203). A piece that isn't
 * recognised stays as it is: the next check names it.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { writeExactly } from "../../body/exact-json.js";
import { type ChatContent, failedContent } from "../shared/chat-request.js";
import { namelessPdf, namelessText, writeDataUrl } from "../shared/data-url.js";
import { isThinkingBlock, mustBeReturned, thinkingBlock } from "../shared/thinking-blocks.js";
import type { JsonObject } from "../shared/translation.js";

/** The types of parts that chat completions don't have. */
const foreignParts: ReadonlySet<unknown> = new Set([
  "input_text",
  "output_text",
  "input_image",
  "input_file",
  "image",
  "document",
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
]);

/** Whether a chat request has such a piece. Nearly none has, and each is asked. */
export function mixesDialects(body: JsonObject): boolean {
  const { tools, tool_choice: choice, messages, system } = body;
  if (Array.isArray(tools) && tools.some(isFlat)) return true;
  if (plainChoice(choice) !== choice) return true;
  if (!Array.isArray(messages)) return false;
  return !isAbsent(system) || messages.some(isMixed);
}

function isMixed(message: unknown): boolean {
  if (!isObject(message)) return false;
  const { role, content } = message;
  if (!Array.isArray(content)) return isObject(content);
  return content.some((part: unknown) => {
    if (!isObject(part)) return typeof part === "string";
    const { type } = part;
    return foreignParts.has(type) || (role === "tool" && type === undefined);
  });
}

/**
 * The same body if it has no such piece. `keepsThoughtLists`: for hosts of chat completions, of
 * which Mistral's writes an assistant's thinking as a part with a list, and wants it back
 * (vercel/ai#17930).
 */
export function plainChat(body: JsonObject, keepsThoughtLists = false): JsonObject {
  if (!mixesDialects(body)) return body;
  const { tools, tool_choice: choice, messages, system, stop_sequences: stop, ...rest } = body;
  const out: Record<string, unknown> = rest;
  const set = (name: string, value: unknown): void => {
    if (value !== undefined) out[name] = value;
  };
  set(
    "tools",
    changedList(tools, (tool) => [isFlat(tool) ? nested(tool) : tool]),
  );
  set("tool_choice", plainChoice(choice));
  if (isObject(choice) && choice["disable_parallel_tool_use"] === true)
    out["parallel_tool_calls"] ??= false;
  const isPrompted = Array.isArray(messages) && !isAbsent(system) && system !== "";
  const all: unknown = isPrompted ? [{ role: "system", content: system }, ...messages] : messages;
  set(
    "messages",
    changedList(all, (message) => plainMessages(message, keepsThoughtLists)),
  );
  if (!isPrompted) set("system", system);
  if (Array.isArray(stop) && isAbsent(body["stop"])) out["stop"] = stop;
  else set("stop_sequences", stop);
  return out;
}

/** The same value if it isn't a list, or if nothing in it changes. */
function changedList(value: unknown, change: (item: unknown) => readonly unknown[]): unknown {
  if (!Array.isArray(value)) return value;
  const changed = value.flatMap(change);
  return changed.length === value.length && changed.every((item, i) => item === value[i])
    ? value
    : changed;
}

function isFlat(tool: unknown): tool is JsonObject {
  if (!isObject(tool) || typeof tool["name"] !== "string") return false;
  const { type = "function" } = tool;
  return type === "function" || type === "custom"
    ? tool[type] === undefined && tool["function"] === undefined
    : false;
}

function nested({ type, format, input_schema: schema, ...fields }: JsonObject): JsonObject {
  if (type !== "custom" || !isAbsent(schema)) {
    const { cache_control: mark, ...called } = fields;
    const parameters = schema ?? called["parameters"];
    return {
      type: "function",
      function: isAbsent(parameters) ? called : { ...called, parameters },
      ...(isAbsent(mark) ? {} : { cache_control: mark }),
    };
  }
  if (!isObject(format) || format["type"] !== "grammar" || isObject(format["grammar"]))
    return { type, custom: isAbsent(format) ? fields : { ...fields, format } };
  const { type: kind, ...grammar } = format;
  return { type, custom: { ...fields, format: { type: kind, grammar } } };
}

const choices: ReadonlyMap<unknown, string> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["any", "required"],
]);

/** Anthropic's choice is an object; that of the Responses API has the name beside its type. */
function plainChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type, name } = choice;
  if (choices.has(type)) return choices.get(type);
  if (typeof name !== "string") return choice;
  if (type === "custom") return { type, custom: { name } };
  return type === "tool" || type === "function" ? { type: "function", function: { name } } : choice;
}

/** The parts of any dialect that a single object in place of a list may be. */
const partTypes: ReadonlySet<unknown> = new Set([
  "text",
  "input_text",
  "output_text",
  "image_url",
  "input_image",
  "image",
  "file",
  "input_file",
  "document",
]);

/** The messages that one message becomes: Anthropic's results are parts of the user's turn. */
function plainMessages(message: unknown, keepsThoughtLists: boolean): readonly unknown[] {
  if (!isObject(message)) return [message];
  const { role, content } = message;
  if (role === "tool" && isObject(content) && !partTypes.has(content["type"]))
    return [{ ...message, content: writeExactly(content) }];
  const parts: unknown = isObject(content) ? [content] : content;
  if (!Array.isArray(parts)) return [message];
  const changed = changedList(parts, (part) => [plainPart(part, role)]);
  if (role === "assistant")
    return [withCalls(message, changed as readonly unknown[], keepsThoughtLists)];
  if (role === "user" && (changed as readonly unknown[]).some(isResult))
    return withResults(message, changed as readonly unknown[]);
  return [changed === content ? message : { ...message, content: changed }];
}

/** The fields of a part that mean the same in every dialect. */
function marksOf({ cache_control: mark, prompt_cache_breakpoint: point }: JsonObject): JsonObject {
  return {
    ...(isAbsent(mark) ? {} : { cache_control: mark }),
    ...(isAbsent(point) ? {} : { prompt_cache_breakpoint: point }),
  };
}

function plainPart(part: unknown, role: unknown): unknown {
  if (typeof part === "string") return { type: "text", text: part };
  if (!isObject(part)) return part;
  // Some clients put what a tool returned into its message as it is.
  if (role === "tool" && part["type"] === undefined)
    return { type: "text", text: writeExactly(part) };
  const plain = convertedPart(part);
  return plain === null ? part : { ...plain, ...marksOf(part) };
}

/** Null for a part of chat completions, and for one that has no counterpart there. */
function convertedPart(part: JsonObject): JsonObject | null {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part["text"] };
    case "input_image": {
      const { image_url: image, detail } = part;
      if (isAbsent(image)) return null;
      const url = isObject(image) ? image["url"] : image;
      return { type: "image_url", image_url: isAbsent(detail) ? { url } : { url, detail } };
    }
    case "input_file": {
      const {
        type: _,
        cache_control: __,
        prompt_cache_breakpoint: ___,
        detail: ____,
        ...file
      } = part;
      return { type: "file", file };
    }
    case "image":
      return imagePart(part);
    case "document":
      return documentPart(part);
    default:
      return null;
  }
}

/** Anthropic's image, or that of a tool of the Model Context Protocol. */
function imagePart({ source, data, mimeType }: JsonObject): JsonObject | null {
  const url = isObject(source)
    ? sourceUrl(source)
    : typeof data === "string" && typeof mimeType === "string"
      ? writeDataUrl({ mediaType: mimeType, base64: data })
      : null;
  return url === null ? null : { type: "image_url", image_url: { url } };
}

function documentPart({ source, title }: JsonObject): JsonObject | null {
  if (!isObject(source)) return null;
  const { type, data, url } = source;
  const name = typeof title === "string" && title !== "" ? title : null;
  if (type === "url") return { type: "file", file: { file_url: url } };
  if (type === "text" && typeof data === "string") {
    const base64 = Buffer.from(data).toString("base64");
    const file_data = writeDataUrl({ mediaType: "text/plain", base64 });
    return { type: "file", file: { filename: name ?? namelessText, file_data } };
  }
  const file_data = sourceUrl(source);
  return file_data === null
    ? null
    : { type: "file", file: { filename: name ?? namelessPdf, file_data } };
}

function sourceUrl({ type, url, data, media_type: mediaType }: JsonObject): string | null {
  if (type === "url" && typeof url === "string") return url;
  return type === "base64" && typeof data === "string" && typeof mediaType === "string"
    ? writeDataUrl({ mediaType, base64: data })
    : null;
}

function isCall(part: unknown): part is JsonObject {
  return isObject(part) && part["type"] === "tool_use" && isObject(part["input"]);
}

function isThinking(part: unknown): part is JsonObject {
  return isObject(part) && (part["type"] === "thinking" || part["type"] === "redacted_thinking");
}

function thoughtIn({ thinking }: JsonObject): string {
  if (!Array.isArray(thinking)) return typeof thinking === "string" ? thinking : "";
  return thinking
    .map((part: unknown) =>
      isObject(part) && typeof part["text"] === "string" ? part["text"] : "",
    )
    .join("");
}

function isResult(part: unknown): part is JsonObject {
  return isObject(part) && part["type"] === "tool_result";
}

/** An assistant's message with its calls and its thinking in their own fields. */
function withCalls(
  message: JsonObject,
  parts: readonly unknown[],
  keepsThoughtLists: boolean,
): JsonObject {
  const calls = parts.filter(isCall);
  const isThought = (part: unknown): part is JsonObject =>
    isThinking(part) && !(keepsThoughtLists && Array.isArray(part["thinking"]));
  const thoughts = parts.filter(isThought);
  if (calls.length === 0 && thoughts.length === 0)
    return parts === message["content"] ? message : { ...message, content: parts };
  const others = parts.filter((part) => !isCall(part) && !isThought(part));
  const out: Record<string, unknown> = {
    ...message,
    content: others.length === 0 ? null : others,
  };
  const kept = thoughts.filter(isThinkingBlock).filter(mustBeReturned).map(thinkingBlock);
  if (kept.length > 0) out["thinking_blocks"] ??= kept;
  const text = thoughts.map(thoughtIn).join("");
  if (text !== "") out["reasoning_content"] ??= text;
  if (calls.length === 0) return out;
  const given: unknown = out["tool_calls"];
  const list: unknown[] = Array.isArray(given) ? [...given] : [];
  const ids = new Set(list.map((call) => (isObject(call) ? call["id"] : null)));
  append(
    list,
    calls
      .filter(({ id }) => !ids.has(id))
      .map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: writeExactly(input) },
      })),
  );
  out["tool_calls"] = list;
  return out;
}

function asFailed(message: JsonObject): JsonObject {
  return { ...message, content: failedContent(message["content"] as ChatContent) };
}

/** A message of the role `tool` for each result, and the user's for the rest. */
function withResults(message: JsonObject, parts: readonly unknown[]): readonly JsonObject[] {
  const results = parts.filter(isResult).flatMap((part): readonly unknown[] => {
    const { tool_use_id: id, content, is_error: failed } = part;
    const result = { role: "tool", tool_call_id: id, content: content ?? "", ...marksOf(part) };
    const messages = plainMessages(result, false) as readonly JsonObject[];
    return failed === true ? messages.map(asFailed) : messages;
  });
  const rest = parts.filter((part) => !isResult(part));
  const own = rest.length === 0 ? [] : [{ ...message, content: rest }];
  return [...(results as readonly JsonObject[]), ...own];
}
