/**
 * Puts the events of a stream together to the answer that the provider would have given without
 * one, for hosts that always stream. Pure functions over JSON, one for each dialect of providers.
 */
import { isAbsent, isCount, isObject, parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { errorBody } from "../body/error-body.js";
import type { StreamEvent } from "./event-stream.js";
import type { JsonObject } from "./shared/translation.js";

type Fields = Record<string, unknown>;

/** Null if the events hold no answer. An event with an error is the answer. */
type Assembly = (events: readonly JsonObject[]) => JsonObject | null;

/** The operations whose streams can be put together. */
const assemblies: ReadonlyMap<Operation, Assembly> = new Map([
  ["chat_completions", chatOf],
  ["messages", messageOf],
  ["responses", responseOf],
]);

export function hasWholeAnswer(operation: Operation): boolean {
  return assemblies.has(operation);
}

export function wholeAnswer(
  operation: Operation,
  events: readonly StreamEvent[],
): JsonObject | null {
  const values = events.map(({ data }) => parseJson(data)).filter(isObject);
  const error = values.find((value) => errorBody(value) !== null && value["type"] !== "response");
  if (error !== undefined) return { error: errorBody(error) };
  return assemblies.get(operation)?.(values) ?? null;
}

/** Fields of a delta that continue a text. */
const texts: ReadonlySet<string> = new Set([
  "content",
  "reasoning_content",
  "reasoning",
  "refusal",
  "arguments",
  "input",
]);

/** Adds a delta to what came before it. */
function addDelta(to: Fields, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = to[name];
    if (isAbsent(value)) to[name] ??= null;
    else if (typeof value === "string" && typeof before === "string" && texts.has(name))
      to[name] = before + value;
    else if (name === "tool_calls" && Array.isArray(value)) to[name] = withCalls(before, value);
    else if (Array.isArray(value)) to[name] = [...(Array.isArray(before) ? before : []), ...value];
    else if (isObject(value) && isObject(before)) addDelta(before, value);
    else if (value !== "" || isAbsent(before)) to[name] = isObject(value) ? { ...value } : value;
  }
}

function withCalls(before: unknown, pieces: readonly unknown[]): readonly unknown[] {
  const calls: Fields[] = Array.isArray(before) ? (before as Fields[]) : [];
  for (const piece of pieces.filter(isObject)) {
    const { index, ...call } = piece;
    const at = isCount(index) ? index : calls.length;
    const known = calls[at];
    if (known === undefined) calls[calls.length] = structuredClone(call);
    else addDelta(known, call);
  }
  return calls;
}

function chatOf(chunks: readonly JsonObject[]): JsonObject | null {
  const out: Fields = {};
  const choices = new Map<number, Fields>();
  for (const { choices: pieces, ...rest } of chunks) {
    for (const [name, value] of Object.entries(rest)) if (!isAbsent(value)) out[name] = value;
    for (const piece of Array.isArray(pieces) ? pieces.filter(isObject) : []) {
      const { index = 0, delta, finish_reason: finish } = piece;
      const choice = choices.get(Number(index)) ?? { index, message: {}, finish_reason: null };
      choices.set(Number(index), choice);
      if (isObject(delta)) addDelta(choice["message"] as Fields, delta);
      choice["finish_reason"] = finish || choice["finish_reason"];
    }
  }
  const list = [...choices.values()];
  if (list.length === 0 || list.every((choice) => choice["finish_reason"] === null)) return null;
  return { ...out, object: "chat.completion", choices: list };
}

function messageOf(events: readonly JsonObject[]): JsonObject | null {
  let message: Fields | null = null;
  const blocks: Fields[] = [];
  let json = "";
  for (const { type, message: begun, content_block: block, delta, usage } of events) {
    const last = blocks.at(-1);
    if (type === "message_start" && isObject(begun)) message = { ...begun };
    else if (type === "content_block_start" && isObject(block)) {
      blocks.push({ ...block });
      json = "";
    } else if (type === "content_block_delta" && isObject(delta) && last !== undefined) {
      const { text, thinking, signature, partial_json: part, citation } = delta;
      for (const [name, piece] of Object.entries({ text, thinking, signature }))
        if (typeof piece === "string")
          last[name] = `${(last[name] as string | undefined) ?? ""}${piece}`;
      if (typeof part === "string") json += part;
      if (json !== "") last["input"] = parseJson(json) ?? last["input"];
      if (citation !== undefined) addDelta(last, { citations: [citation] });
    } else if (type === "message_delta" && message !== null) {
      if (isObject(delta)) Object.assign(message, delta);
      const before = message["usage"];
      if (isObject(usage)) message["usage"] = isObject(before) ? { ...before, ...usage } : usage;
    }
  }
  return message === null || isAbsent(message["stop_reason"])
    ? null
    : { ...message, content: blocks };
}

const ends = ["completed", "incomplete", "failed", "done"].map((end) => `response.${end}`);

function responseOf(events: readonly JsonObject[]): JsonObject | null {
  const last = events.findLast(({ type }) => ends.includes(String(type)));
  const response = last?.["response"];
  if (!isObject(response)) return null;
  const { output } = response;
  if (Array.isArray(output) && output.length > 0) return response;
  const items = events.filter(({ type }) => type === "response.output_item.done");
  return { ...response, output: items.map(({ item }) => item) };
}
