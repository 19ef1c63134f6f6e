/**
 * Joins the events of a stream to a complete answer, for hosts that always stream. Pure functions
 * over JSON, one for each dialect of providers.
 */
import { isAbsent, isCount, isObject, parseJson, present } from "../../shared/checked.js";
import { append } from "../../shared/long-lists.js";
import type { Operation } from "../../shared/operation.js";
import { errorBody } from "../body/error-body.js";
import type { StreamEvent } from "./event-stream.js";
import type { JsonObject } from "./shared/translation.js";

type Fields = Record<string, unknown>;

/** Null if the events contain no answer. An event with an error is the answer. */
type Assembly = (events: readonly JsonObject[]) => JsonObject | null;

/** The operations whose streams can be joined. */
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
  // An error of the Responses API is the event itself.
  const error = values.find((value) => value["type"] === "error" || errorBody(value) !== null);
  if (error !== undefined) return { error: errorBody(error) ?? error };
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

/** Merges a delta into the answer so far, which may keep references to parts of the delta. */
function addDelta(to: Fields, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta)) {
    // A name from outside must not reach the prototype of all objects.
    if (name === "__proto__") continue;
    const before = to[name];
    if (isAbsent(value)) to[name] ??= null;
    else if (typeof value === "string" && typeof before === "string" && texts.has(name))
      to[name] = before + value;
    else if (Array.isArray(value) && Array.isArray(before)) append(before, value);
    else if (isObject(value) && isObject(before)) addDelta(before, value);
    else if (value !== "" || isAbsent(before)) to[name] = value;
  }
}

/** The calls of a choice, whose pieces may alternate. */
class Calls {
  readonly #list: Fields[] = [];
  readonly #byIndex = new Map<unknown, Fields>();

  /** Adds pieces; returns all calls so far. */
  add(pieces: readonly unknown[]): readonly Fields[] {
    for (const { index, ...piece } of pieces.filter(isObject)) {
      const continued = this.#continued(index, piece);
      const call = continued ?? piece;
      if (continued !== null) addDelta(continued, piece);
      else this.#list.push(piece);
      if (isCount(index)) this.#byIndex.set(index, call);
    }
    return this.#list;
  }

  /** The call that the piece continues; null if it begins one (`call-sequence.ts` says when). */
  #continued(index: unknown, piece: Fields): Fields | null {
    const call = isCount(index) ? this.#byIndex.get(index) : this.#list.at(-1);
    if (call === undefined) return null;
    if (!isNamed(piece) || !isNamed(call)) return call;
    const isOther = present(piece["id"]) ? piece["id"] !== call["id"] : !isCount(index);
    return isOther ? null : call;
  }
}

function isNamed({ function: called, custom }: Fields): boolean {
  const inner = called ?? custom;
  return isObject(inner) && present(inner["name"]);
}

interface Choice {
  readonly fields: Fields;
  readonly message: Fields;
  readonly calls: Calls;
  finish: unknown;
}

function newChoice(): Choice {
  return { fields: {}, message: {}, calls: new Calls(), finish: null };
}

function chatOf(chunks: readonly JsonObject[]): JsonObject | null {
  const out: Fields = {};
  const choices = new Map<unknown, Choice>();
  for (const { choices: pieces, ...rest } of chunks) {
    for (const [name, value] of Object.entries(rest)) if (!isAbsent(value)) out[name] = value;
    for (const piece of Array.isArray(pieces) ? pieces.filter(isObject) : []) {
      // Some hosts stream a whole message.
      const { index = 0, message, delta = message, finish_reason: finish, ...others } = piece;
      const choice = choices.get(index) ?? newChoice();
      choices.set(index, choice);
      choice.finish = finish || choice.finish;
      addDelta(choice.fields, others);
      if (!isObject(delta)) continue;
      const { tool_calls: calls, ...fields } = delta;
      addDelta(choice.message, fields);
      if (Array.isArray(calls)) choice.message["tool_calls"] = choice.calls.add(calls);
    }
  }
  const list = Array.from(choices, ([index, { fields, message, finish }]) => {
    return { ...fields, index, message, finish_reason: finish };
  });
  if (list.length === 0 || list.every((choice) => choice.finish_reason === null)) return null;
  return { ...out, object: "chat.completion", choices: list };
}

function messageOf(events: readonly JsonObject[]): JsonObject | null {
  let message: Fields | null = null;
  const blocks: Fields[] = [];
  let json = "";
  const endBlock = (): void => {
    const last = blocks.at(-1);
    if (last !== undefined && json !== "") last["input"] = parseJson(json) ?? last["input"];
    json = "";
  };
  for (const { type, message: begun, content_block: block, delta, usage } of events) {
    const last = blocks.at(-1);
    if (type === "message_start" && isObject(begun)) message = { ...begun };
    else if (type === "content_block_start" && isObject(block)) {
      endBlock();
      blocks.push({ ...block });
    } else if (type === "content_block_delta" && isObject(delta) && last !== undefined) {
      const { text, thinking, signature, partial_json: part, citation } = delta;
      for (const [name, piece] of Object.entries({ text, thinking, signature }))
        if (typeof piece === "string")
          last[name] = `${(last[name] as string | undefined) ?? ""}${piece}`;
      if (typeof part === "string") json += part;
      if (citation !== undefined) addDelta(last, { citations: [citation] });
    } else if (type === "message_delta" && message !== null) {
      if (isObject(delta)) Object.assign(message, delta);
      const before = message["usage"];
      if (isObject(usage)) message["usage"] = isObject(before) ? { ...before, ...usage } : usage;
    }
  }
  endBlock();
  return message === null || isAbsent(message["stop_reason"])
    ? null
    : { ...message, content: blocks };
}

const endTypes = ["completed", "incomplete", "failed", "done"].map((end) => `response.${end}`);

function responseOf(events: readonly JsonObject[]): JsonObject | null {
  const last = events.findLast(({ type }) => endTypes.includes(String(type)));
  const response = last?.["response"];
  if (!isObject(response)) return null;
  const { output } = response;
  if (Array.isArray(output) && output.length > 0) return response;
  const items = events.filter(({ type }) => type === "response.output_item.done");
  return { ...response, output: items.map(({ item }) => item) };
}
