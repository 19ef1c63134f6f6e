/**
 * Wraps an upstream to read its answers as they pass: the JSON of a plain answer, or the first
 * event of a stream, which describes the object that the stream is about. Changes nothing, and
 * doesn't read an answer that is too large.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { headerOf } from "../http/copy-headers.js";
import type { Upstream, UpstreamSink } from "../upstream/upstream.js";

/**
 * The most bytes that are read of an answer, or of a stream's first event, which repeats the
 * request.
 */
const watchedBytesMax = 4 * 1024 * 1024;

/** Calls `onAnswer` with the object of a successful answer, before the last byte passes. */
export function watchedUpstream(upstream: Upstream, onAnswer: (answer: unknown) => void): Upstream {
  return {
    ...upstream,
    send: (request, sink) => upstream.send(request, new WatchingSink(sink, onAnswer)),
  };
}

class WatchingSink implements UpstreamSink {
  readonly #sink: UpstreamSink;
  readonly #onAnswer: (answer: unknown) => void;
  #form: "unread" | "stream" | "whole" = "unread";
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(sink: UpstreamSink, onAnswer: (answer: unknown) => void) {
    this.#sink = sink;
    this.#onAnswer = onAnswer;
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    const type = headerOf(rawHeaders, "content-type").toLowerCase();
    if (status < 300)
      this.#form = type.startsWith("text/event-stream")
        ? "stream"
        : type === "" || type.includes("json")
          ? "whole"
          : "unread";
    this.#sink.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): void {
    if (this.#form !== "unread") this.#keep(chunk);
    this.#sink.onData(chunk);
  }

  #keep(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > watchedBytesMax) return this.#stop();
    this.#pieces.push(chunk);
    if (this.#form !== "stream" || !chunk.includes("\n")) return;
    const event = firstEvent(this.#text());
    if (event === null) return;
    this.#stop();
    const value = parseJson(event);
    this.#onAnswer(isObject(value) ? (value["response"] ?? value["interaction"] ?? value) : value);
  }

  #text(): string {
    return Buffer.concat(this.#pieces).toString("utf8");
  }

  #stop(): void {
    this.#form = "unread";
    this.#pieces = [];
  }

  onEnd(): void {
    if (this.#form === "whole") this.#onAnswer(parseJson(this.#text()));
    this.#stop();
    this.#sink.onEnd();
  }

  onFailure(failure: Parameters<UpstreamSink["onFailure"]>[0]): void {
    this.#stop();
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#stop();
    this.#sink.onBug(error);
  }
}

/** The data of the first complete event that has data; null if it hasn't arrived completely. */
function firstEvent(text: string): string | null {
  const events = text.replace(/^\ufeff/, "").split(/\r\n\r\n|\n\n|\r\r/);
  for (const event of events.slice(0, -1)) {
    const data = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:"));
    if (data.length > 0) return data.map((line) => line.slice("data:".length)).join("\n");
  }
  return null;
}

/**
 * The model that an answer, or the first event of a stream, names. It is read only from the
 * provider's own fields: text of the model, and arguments of its calls, are nested deeper.
 */
export function modelIn(answer: unknown): unknown {
  // Gemini streams a list of chunks, unless the client requests events.
  const first: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(first)) return undefined;
  const { message } = first;
  return first["modelVersion"] ?? first["model"] ?? (isObject(message) ? message["model"] : null);
}
