/**
 * Finds the end of an answer in the bytes of a provider's stream, for hosts that leave the
 * connection open afterwards. It reads the beginnings of lines, which no text of an answer can
 * imitate: JSON contains no line ends.
 *
 * Not here: the reaction to the end (`ended-upstream.ts`).
 */
import { isObject, parseJson, present } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { isErrorEvent } from "../body/error-body.js";

/**
 * `ended`: the dialect's last event has passed. `finishing`: the answer has its finish reason, but
 * its usage or further events may follow.
 */
export type StreamState = "open" | "finishing" | "ended";

/** The state after a line; null if it doesn't change. `open`: the answer continues. */
type LineReader = (line: string, isFinishing: boolean) => StreamState | null;

const lineReaders: ReadonlyMap<Operation, LineReader> = new Map([
  ["chat_completions", chatLine],
  ["completions", chatLine],
  ["messages", messagesLine],
  ["responses", responsesLine],
  ["stream_generate_content", googleLine],
]);

/** Longer lines don't matter. */
const lineCharsMax = 16 * 1024;

/** Null if the operation's streams don't mark their end. */
export function streamEndOf(operation: Operation | null): StreamEnd | null {
  const reader = operation === null ? undefined : lineReaders.get(operation);
  return reader === undefined ? null : new StreamEnd(reader);
}

class StreamEnd {
  readonly #lineReader: LineReader;
  /** The beginning of the last, incomplete line. */
  #line = "";
  /** The state that the current event implies. */
  #eventState: StreamState | null = null;
  #state: StreamState = "open";
  /**
   * Whether the answer continued after a finish reason, so that reasons of this host mean nothing.
   */
  #repeatsReasons = false;
  /** Counts the events with a finish reason. */
  finishes = 0;

  constructor(reader: LineReader) {
    this.#lineReader = reader;
  }

  push(chunk: Buffer): StreamState {
    const text = chunk.toString("latin1");
    let start = 0;
    for (let feed = text.indexOf("\n"); feed !== -1; feed = text.indexOf("\n", start)) {
      this.#readLine(this.#line + text.slice(start, feed));
      this.#line = "";
      start = feed + 1;
    }
    if (start < text.length && this.#line.length < lineCharsMax)
      this.#line += text.slice(start, start + lineCharsMax);
    return this.#state;
  }

  #readLine(line: string): void {
    if (line === "" || line === "\r") return this.#endEvent();
    const next = this.#lineReader(line, this.#state === "finishing");
    if (next !== null && this.#eventState !== "ended") this.#eventState = next;
  }

  #endEvent(): void {
    const next = this.#eventState;
    this.#eventState = null;
    if (next === null || this.#state === "ended") return;
    if (next === "ended") this.#state = next;
    else if (next === "open") {
      if (this.#state === "finishing") this.#repeatsReasons = true;
      this.#state = next;
    } else if (!this.#repeatsReasons) {
      this.#state = next;
      this.finishes++;
    }
  }
}

const dataField = "data:";

type Fields = Readonly<Record<string, unknown>>;

/** The data of a line; null if it isn't an object. */
function objectIn(line: string): Fields | null {
  const value = parseJson(line.slice(dataField.length));
  return isObject(value) ? value : null;
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/**
 * The state after an event. If a host sends a reason with each part of the answer, the reason isn't
 * the end.
 */
function stateOf(
  hasReason: boolean,
  hasContent: boolean,
  isFinishing: boolean,
): StreamState | null {
  if (isFinishing && hasContent) return "open";
  return hasReason ? "finishing" : null;
}

const chatEndPattern = /"finish_reason"\s*:\s*"(?!")|"error"\s*:\s*["{]/;

function chatLine(line: string, isFinishing: boolean): StreamState | null {
  if (!line.startsWith(dataField)) return null;
  if (line.length <= doneLineCharsMax && line.slice(dataField.length).trim() === "[DONE]")
    return "ended";
  if (!isFinishing && !chatEndPattern.test(line)) return null;
  const chunk = objectIn(line);
  if (chunk === null) return "open";
  if (isErrorEvent(chunk)) return "finishing";
  const choices = listOf(chunk["choices"]);
  const hasContent = choices.some((choice) => hasText(choice) || hasFields(choice["delta"]));
  const hasReason = choices.some(({ finish_reason: reason }) => present(reason));
  return stateOf(hasReason, hasContent, isFinishing);
}

/** Of a legacy completion. */
function hasText({ text }: Fields): boolean {
  return present(text);
}

/** Whether a delta or a part has any content. */
function hasFields(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    ([name, field]) =>
      name !== "role" && present(field) && !(Array.isArray(field) && field.length === 0),
  );
}

function messagesLine(line: string, isFinishing: boolean): StreamState | null {
  if (line.startsWith("event:")) {
    const name = line.slice("event:".length).trim();
    if (name === "message_stop") return "ended";
    return name === "error" ? "finishing" : null;
  }
  if (!line.startsWith(dataField)) return null;
  if (!isFinishing && !line.includes('"message_')) return null;
  const event = objectIn(line);
  if (event === null) return "open";
  const { type, delta } = event;
  if (type === "message_stop") return "ended";
  const hasReason = type === "message_delta" && isObject(delta) && present(delta["stop_reason"]);
  return stateOf(hasReason, String(type).startsWith("content_block"), isFinishing);
}

/** Matches the type of a response, which precedes the long response. */
const typeOfResponse =
  /^(?:event:|data:\s*\{\s*(?:"sequence_number"\s*:\s*\d+\s*,\s*)?"type"\s*:\s*")\s*(?:response\.(?:completed|incomplete|failed|done)|(error))(?:"|\s*$)/;

function responsesLine(line: string): StreamState | null {
  const type = typeOfResponse.exec(line);
  if (type === null) return null;
  return type[1] === undefined ? "ended" : "finishing";
}

const googleEndPattern = /"(?:finishReason|blockReason)"\s*:\s*"/;

function googleLine(line: string, isFinishing: boolean): StreamState | null {
  if (!line.startsWith(dataField) || (!isFinishing && !googleEndPattern.test(line))) return null;
  const chunk = objectIn(line);
  if (chunk === null) return "open";
  const candidates = listOf(chunk["candidates"]);
  const { promptFeedback } = chunk;
  const hasReason =
    candidates.some(({ finishReason }) => present(finishReason)) ||
    (isObject(promptFeedback) && present(promptFeedback["blockReason"]));
  const hasContent = candidates.some(
    ({ content }) => isObject(content) && listOf(content["parts"]).some(hasFields),
  );
  return stateOf(hasReason, hasContent, isFinishing);
}

/** `[DONE]` isn't longer. */
const doneLineCharsMax = 40;
