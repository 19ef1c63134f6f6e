/**
 * The events that a client receives over a WebSocket of the Responses API: those of the HTTP
 * stream, with their lane's id, and errors with their HTTP status. It also collects the parts of
 * the answer that a later `response.create` needs.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import type { StreamEvent } from "../event-stream.js";
import type { JsonObject } from "../shared/translation.js";
import { joinItems } from "./client-event.js";

/** A finished response that no provider stores, so that the socket must. */
interface FinishedResponse {
  readonly id: string;
  /** The items of its output as JSON, for the input of a later request. */
  readonly items: string;
}

interface AnswerContext {
  readonly streamId: string | null;
  /** The id of the continued response, if the provider doesn't know that id; empty for none. */
  readonly previousId: string;
  /** Takes memory for items; false if there is none. */
  readonly hold: (chars: number) => boolean;
}

/** The events whose data is read. Most events are deltas, and pass unread. */
const lastEvents: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "error",
]);
const firstEvents: ReadonlySet<unknown> = new Set(["response.created", "response.in_progress"]);
const itemDone = "response.output_item.done";

export class ServerEvents {
  readonly #context: AnswerContext;
  #items = "";
  /** Whether there was memory for all items. */
  #isWhole = true;
  /** The last event, which is held back until the request is settled. */
  #last: string | null = null;
  /** The response's id; empty until an event has it. */
  responseId = "";
  /** Set once the response is done, if its provider doesn't store it. */
  finished: FinishedResponse | null = null;

  constructor(answered: AnswerContext) {
    this.#context = answered;
  }

  /** The client's events now; null for none. */
  push({ event: name, data }: StreamEvent): string | null {
    if (this.#last !== null || data === "[DONE]") return null;
    const isRead =
      name === null || name === itemDone || lastEvents.has(name) || firstEvents.has(name);
    const value = isRead ? parseBodyExactly(data) : null;
    if (!isObject(value)) return inLane(data, this.#context.streamId);
    const { type, response } = value;
    if (isObject(response) && typeof response["id"] === "string") this.responseId = response["id"];
    if (type === "error") {
      this.#last = this.#error(value);
      return null;
    }
    if (type === itemDone) this.#keep(value["item"]);
    const message = inLane(this.#withPrevious(value, data), this.#context.streamId);
    if (!lastEvents.has(type)) return message;
    this.#last = message;
    if (type !== "response.failed") this.#finish(response);
    return null;
  }

  /** An answer that isn't a stream: an error, or a whole response. */
  whole(status: number, headers: readonly string[], body: string): void {
    const value = parseBodyExactly(body);
    if (status < 300 && isObject(value) && typeof value["status"] === "string") {
      for (const item of Array.isArray(value["output"]) ? value["output"] : []) this.#keep(item);
      this.push({
        event: "response.completed",
        data: writeExactly({
          type: `response.${value["status"]}`,
          sequence_number: 0,
          response: value,
        }),
      });
      return;
    }
    const error = isObject(value) && isObject(value["error"]) ? value["error"] : noAnswer;
    const sent = { status: status < 400 ? 502 : status, headers: sentHeaders(headers) };
    this.#last = inLane(errorEvent(error, sent), this.#context.streamId);
  }

  /** The last event. An answer without one was cut. */
  end(): string {
    return this.#last ?? inLane(errorEvent(cut, { status: 502 }), this.#context.streamId);
  }

  #error(value: JsonObject): string {
    const { error, code = null, message = "", param = null, status } = value;
    const details = isObject(error) ? error : { type: "server_error", code, message, param };
    const sent = { status: typeof status === "number" ? status : statusOf(details) };
    return inLane(errorEvent(details, sent), this.#context.streamId);
  }

  #keep(item: unknown): void {
    const inputItem = isObject(item) ? asInput(item) : null;
    if (inputItem === null || !this.#isWhole) return;
    const text = writeExactly(inputItem);
    this.#isWhole = this.#context.hold(text.length + 1);
    this.#items = this.#isWhole ? joinItems(this.#items, text) : "";
  }

  #finish(response: unknown): void {
    if (!isObject(response) || typeof response["id"] !== "string") return;
    if (response["store"] === true || !this.#isWhole) return;
    this.finished = { id: response["id"], items: this.#items };
  }

  /** Adds the id of the continued response, which the provider doesn't know. */
  #withPrevious(value: JsonObject, data: string): string {
    const { previousId } = this.#context;
    const { response } = value;
    if (previousId === "" || !isObject(response)) return data;
    return writeExactly({
      ...value,
      response: { ...response, previous_response_id: previousId },
    });
  }
}

/** `headers`: of the answer over HTTP. */
export function errorEvent(
  error: JsonObject,
  { status, headers = {} }: { readonly status: number; readonly headers?: JsonObject },
): string {
  const { code = null, param = null } = error;
  const isLost = param === "previous_response_id" && isAbsent(code);
  const sent = isLost ? { ...error, code: "previous_response_not_found" } : error;
  return writeExactly({ type: "error", status, error: sent, headers });
}

export function inLane(message: string, streamId: string | null): string {
  return streamId === null
    ? message
    : `{"stream_id":${JSON.stringify(streamId)},${message.slice(message.indexOf("{") + 1)}`;
}

const noAnswer = {
  type: "provider_error",
  message: "the provider has answered without the stream that was asked for",
  code: null,
  param: null,
};

const cut = {
  type: "provider_error",
  message: "the provider's stream ended before the answer was complete",
  code: null,
  param: null,
};

/** The status of an error within a stream, which has none of its own. */
function statusOf({ type, code }: JsonObject): number {
  if (code === "context_length_exceeded") return 400;
  return statuses.get(type) ?? statuses.get(code) ?? 500;
}

const statuses: ReadonlyMap<unknown, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
]);

/** The headers of limits and of the request's id. All others describe the body. */
function sentHeaders(flat: readonly string[]): JsonObject {
  const sent: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase();
    if (/^(?:retry-after|x-)/.test(name)) sent[name] = flat[i + 1]!;
  }
  return sent;
}

/** Items that need no id in an input. An id would name something that isn't stored. */
const freeItems: ReadonlySet<unknown> = new Set([
  "message",
  "function_call",
  "custom_tool_call",
  "reasoning",
]);

/** An output item as an input item; null for reasoning that its provider can't read again. */
function asInput(item: JsonObject): JsonObject | null {
  const { type, content, encrypted_content: encrypted } = item;
  if (!freeItems.has(type)) return item;
  const { id: _id, status: _status, ...rest } = item;
  if (type !== "reasoning" || typeof encrypted === "string") return rest;
  return Array.isArray(content) && content.length > 0 ? rest : null;
}
