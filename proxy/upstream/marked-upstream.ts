/**
 * An upstream that marks the encrypted reasoning and the signatures in its answers with the account
 * that made them (`made-by.ts`). Everything else passes unchanged.
 */
import type { Marking } from "../dialects/shared/made-by.js";
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { Upstream, UpstreamSink } from "./upstream.js";

/**
 * The longest line that is held until it is complete: an event of a stream, or a plain answer.
 * Reasoning in a longer line isn't marked; a provider that refuses such reasoning gets the request
 * again without it.
 */
const lineBytesMax = 1024 * 1024;

export function markedUpstream(upstream: Upstream, marking: Marking): Upstream {
  return {
    ...upstream,
    send: (request, sink) => upstream.send(request, new MarkingSink(sink, marking)),
  };
}

const newLine = 0x0a;

class MarkingSink implements UpstreamSink {
  readonly #sink: UpstreamSink;
  readonly #marking: Marking;
  /** The beginning of a line. */
  #pieces: Buffer[] = [];
  #heldBytes = 0;

  constructor(sink: UpstreamSink, marking: Marking) {
    this.#sink = sink;
    this.#marking = marking;
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#sink.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): void {
    const end = chunk.lastIndexOf(newLine) + 1;
    if (end > 0) this.#release(chunk.subarray(0, end));
    if (end === chunk.length) return;
    this.#pieces.push(end === 0 ? chunk : chunk.subarray(end));
    this.#heldBytes += chunk.length - end;
    if (this.#heldBytes > lineBytesMax) this.#release(null);
  }

  /** Sends the held bytes and the end of their line. */
  #release(rest: Buffer | null): void {
    const pieces = this.#pieces;
    if (rest !== null) pieces.push(rest);
    if (pieces.length === 0) return;
    const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    this.#pieces = [];
    this.#heldBytes = 0;
    const { keys, pattern, mark } = this.#marking;
    const isMarked = keys.some((key) => bytes.includes(key));
    this.#sink.onData(
      isMarked
        ? Buffer.from(bytes.toString("latin1").replace(pattern, `$&${mark}`), "latin1")
        : bytes,
    );
  }

  onEnd(): void {
    this.#release(null);
    this.#sink.onEnd();
  }

  onFailure(failure: UpstreamFailure): void {
    this.#release(null);
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#sink.onBug(error);
  }
}
