/**
 * Looks at a streamed answer (Server-Sent Events) while it passes, for its usage, and keeps back
 * the usage chunk that only Sluice asked for.
 *
 * Bytes pass at once, in the Buffers in which they came, even one byte of a line. Only when the last
 * chunk is to be hidden, and only after a `finish_reason` has been seen, are events held until they are
 * whole. Nothing is held for longer than one event, nor more than `streamEventBytesMax` bytes.
 *
 * Not here: sockets, back-pressure, and what the readings are charged to. Lines end in LF or CRLF; a
 * stream with bare CRs, which no upstream sends, passes unread.
 */
import { streamEventBytesMax } from "../shared/bounds.js";
import { ByteStore } from "../shared/byte-store.js";
import type { Operation } from "../shared/operation.js";
import { EventReader } from "./event-reader.js";
import type { UsageReading } from "./read-usage.js";

export interface StreamTap {
  /** What goes to the client now, in order: mostly `chunk` itself. Null: nothing yet. */
  push(chunk: Buffer): Buffer | readonly Buffer[] | null;
  /** After the last chunk: what was held and must still go out. */
  end(): Buffer | null;
  /** The last usage that the events reported, put together where it came in two parts. */
  readonly usage: UsageReading;
  /**
   * How much text the deltas carried (content, reasoning, refusal, tool arguments), for an estimate:
   * the bytes that it takes in the JSON. An escape counts as it is written, a Chinese character as 3.
   */
  readonly contentChars: number;
  /** The part of it that came after the last usage was told. */
  readonly contentCharsSinceUsage: number;
  /** Whether `data: [DONE]` came. */
  readonly done: boolean;
  /** Whether an event had a top-level `error` object. */
  readonly errorSeen: boolean;
}

/** A tap for one response, in the dialect of what was asked for. With `hideUsageChunk`, chunks that only carry usage are kept from the client once a `finish_reason` has passed. */
export function createStreamTap(options: { readonly operation: Operation; readonly hideUsageChunk: boolean }): StreamTap {
  return new Tap(new EventReader(options.operation), options.hideUsageChunk);
}

/** What the line that a chunk ended in holds so far: whether it may still turn out blank. */
type OpenLine = "empty" | "cr" | "text";

class Tap implements StreamTap {
  readonly #hide: boolean;
  readonly #reader: EventReader;
  /** The event that the chunks so far have left open. While holding, none of it has gone out; before, all of it. */
  readonly #open = new ByteStore();
  #openLine: OpenLine = "empty";
  /** Lines of the open event that aren't blank. */
  #lines = 0;
  #holding = false;
  #stopped = false;

  constructor(reader: EventReader, hide: boolean) {
    this.#reader = reader;
    this.#hide = hide;
  }

  get usage(): UsageReading {
    return this.#reader.usage;
  }

  get contentChars(): number {
    return this.#reader.contentChars;
  }

  get contentCharsSinceUsage(): number {
    return this.#reader.contentCharsSinceUsage;
  }

  get done(): boolean {
    return this.#reader.done;
  }

  get errorSeen(): boolean {
    return this.#reader.errorSeen;
  }

  push(chunk: Buffer): Buffer | readonly Buffer[] | null {
    if (this.#stopped) return chunk;
    const text = chunk.toString("latin1");
    return this.#holding ? this.#hold(chunk, text) : this.#pass(chunk, text);
  }

  end(): Buffer | null {
    if (this.#stopped || this.#open.length === 0) return null;
    if (this.#openLine !== "empty") this.#lines++;
    const holding = this.#holding;
    const usageOnly = this.#read(this.#open.text());
    return holding && !usageOnly ? this.#open.take() : null;
  }

  /** Everything goes out; events are read on the way. */
  #pass(chunk: Buffer, text: string): Buffer | readonly Buffer[] {
    let start = 0;
    for (let end = this.#eventEnd(text, 0); end !== -1; end = this.#eventEnd(text, start)) {
      const event = this.#wholeEvent(chunk, text, start, end);
      if (event === null) return this.#stop(chunk);
      this.#read(event);
      this.#open.clear();
      start = end;
      if (!this.#hide || !this.#reader.finished) continue;
      this.#holding = true;
      if (start === chunk.length) return chunk;
      const rest = this.#hold(chunk.subarray(start), text.slice(start));
      const first = chunk.subarray(0, start);
      return rest === null ? first : [first].concat(rest);
    }
    return this.#keep(chunk, start) ? chunk : this.#stop(chunk);
  }

  /** Only whole events go out, and no usage chunk does. */
  #hold(chunk: Buffer, text: string): Buffer | readonly Buffer[] | null {
    const out: Buffer[] = [];
    let start = 0;
    let sent = 0;
    for (let end = this.#eventEnd(text, 0); end !== -1; end = this.#eventEnd(text, start)) {
      const event = this.#wholeEvent(chunk, text, start, end);
      if (event === null) return this.#stop(chunk.subarray(sent), out);
      if (this.#read(event)) {
        if (start > sent) out.push(chunk.subarray(sent, start));
        this.#open.clear();
        sent = end;
      } else if (this.#open.length > 0) {
        out.push(this.#open.take());
        sent = end;
      }
      start = end;
    }
    if (sent === 0 && start === chunk.length) return chunk;
    if (start > sent) out.push(chunk.subarray(sent, start));
    if (!this.#keep(chunk, start)) return this.#stop(chunk.subarray(start), out);
    return out.length === 0 ? null : out;
  }

  /** The position after the blank line that ends the open event, or -1 when the text ends first. */
  #eventEnd(text: string, from: number): number {
    let line = from;
    for (let feed = text.indexOf("\n", line); feed !== -1; feed = text.indexOf("\n", line)) {
      const blank = feed === line ? this.#openLine !== "text" : feed === line + 1 && this.#openLine === "empty" && text.charCodeAt(line) === 0x0d;
      this.#openLine = "empty";
      line = feed + 1;
      if (blank) return line;
      this.#lines++;
    }
    if (line < text.length) this.#openLine = this.#openLine === "empty" && line === text.length - 1 && text.charCodeAt(line) === 0x0d ? "cr" : "text";
    return -1;
  }

  /** The event that ends at `end`, with what earlier chunks brought of it, or null when it is too large to look at. */
  #wholeEvent(chunk: Buffer, text: string, start: number, end: number): string | null {
    if (this.#open.length + end - start > streamEventBytesMax) return null;
    if (this.#open.length === 0) return text.slice(start, end);
    this.#open.append(chunk, start, end);
    return this.#open.text();
  }

  /** Keeps the open event's bytes for later; false when it has grown too large. */
  #keep(chunk: Buffer, start: number): boolean {
    if (start === chunk.length) return true;
    if (this.#open.length + chunk.length - start > streamEventBytesMax) return false;
    this.#open.append(chunk, start, chunk.length);
    return true;
  }

  #read(event: string): boolean {
    const lines = this.#lines;
    this.#lines = 0;
    return this.#reader.read(event, lines);
  }

  /** From now on nothing is read; `rest` goes out, behind `out` and what was held. */
  #stop(rest: Buffer, out: Buffer[] = []): Buffer | readonly Buffer[] {
    this.#stopped = true;
    const held = this.#open.take();
    if (this.#holding && held.length > 0) out.push(held);
    if (out.length === 0) return rest;
    out.push(rest);
    return out;
  }
}
