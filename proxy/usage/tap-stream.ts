/**
 * Reads the usage of a stream (Server-Sent Events) while it passes, and hides the usage chunk that
 * only Sluice requested.
 *
 * Bytes pass immediately, in the Buffers in which they arrived, even one byte of a line. Events are
 * held until they are complete only if the usage chunk must be hidden, and then only after a
 * `finish_reason`; or always, if the stream may be cut. At most one event, of at most
 * `streamEventBytesMax` bytes, is held: a larger event passes immediately, is read as it passes,
 * and is never hidden.
 *
 * Not here: sockets, back-pressure, and the charge. Lines end in LF, CRLF or a lone CR. After a CR
 * at the end of a chunk, the next byte shows whether it was a CRLF.
 */
import { streamEventBytesMax } from "../../shared/bounds.js";
import { ByteBuffer } from "../../shared/byte-buffer.js";
import type { Operation } from "../../shared/operation.js";
import type { ToolCalls } from "../../shared/usage/tool-calls.js";
import { JsonPicker } from "../body/json-picker.js";
import { EventReader } from "./event-reader.js";
import { usagePicks } from "./find-usage.js";
import type { UsageReading } from "./read-usage.js";

export interface StreamTap {
  /**
   * Returns the bytes for the client now, in order: usually `chunk` itself; null if there are none.
   */
  push(chunk: Buffer): Buffer | readonly Buffer[] | null;
  /** The last chunk in Latin-1. */
  readonly latin1: string;
  /**
   * With `passesWholeEvents`: the text of the events that the last chunk has completed, as in JSON;
   * null if one of them has none.
   */
  readonly passedText: string | null;
  /** Drops the bytes of an event that isn't complete, so that another event may follow. */
  dropIncomplete(): void;
  /** Ends the stream. Returns held bytes that must still be sent. */
  end(): Buffer | null;
  /** The last usage that the events reported, merged if it came in several parts. */
  readonly usage: UsageReading;
  /**
   * How much text the deltas carried (content, reasoning, refusal, tool arguments), for an
   * estimate: its bytes as written in the JSON. An escape counts as written, a Chinese character as
   * 3.
   */
  readonly contentChars: number;
  /** As in `EventReader`. */
  readonly otherChars: number;
  /** The text after the last usage. */
  readonly contentCharsSinceUsage: number;
  /** The last usage as it was reported; another object after each report. */
  readonly reported: unknown;
  /** With `passesWholeEvents`: whether all bytes that were sent belong to complete events. */
  readonly isBetweenEvents: boolean;
  /** Whether an event was an error; see `isErrorEvent`. */
  readonly hasSeenError: boolean;
  /** As in `EventReader`. */
  readonly beginsWithError: boolean;
  readonly hasSeenReasoning: boolean;
  readonly finished: boolean;
  /** Whether the answer contains nothing but a failure of the model. */
  readonly isFailed: boolean;
  /** Whether the events contain a complete answer; true in dialects that don't mark its end. */
  readonly isComplete: boolean;
  /** The model that an event with usage names; null if none does. */
  readonly model: string | null;
  /** The calls of tools so far; undefined without any. */
  readonly toolCalls: ToolCalls | undefined;
  /** A part that `usage` may lack, for the log. */
  readonly note: string | null;
}

interface StreamTapOptions {
  readonly operation: Operation;
  readonly hideUsageChunk: boolean;
  /** Whether each event is held until it is complete. */
  readonly passesWholeEvents?: boolean;
  readonly eventBytesMax?: number;
}

/**
 * A tap for one response, in the client's dialect. With `hideUsageChunk` it removes chunks that
 * only carry usage, once a `finish_reason` has passed.
 */
export function createStreamTap({
  operation,
  hideUsageChunk,
  passesWholeEvents = false,
  eventBytesMax = streamEventBytesMax,
}: StreamTapOptions): StreamTap {
  return new Tap(new EventReader(operation), { hideUsageChunk, passesWholeEvents, eventBytesMax });
}

/** The state of the last, incomplete line: whether it may still turn out to be blank. */
type OpenLine = "empty" | "cr" | "text";

/** Doesn't match a CR at the end of a text, which may be the start of a CRLF. */
const loneCr = /\r(?=[^\n])/;

class Tap implements StreamTap {
  readonly #hidesUsageChunk: boolean;
  readonly #eventBytesMax: number;
  readonly #reader: EventReader;
  /**
   * The last, incomplete event. While the tap holds events, none of its bytes have gone out; before
   * that, all of them have.
   */
  readonly #openEvent = new ByteBuffer();
  /** Replaces `#openEvent` for an event larger than the bound. All its bytes have gone out. */
  #largeEvent: LargeEvent | null = null;
  #openLine: OpenLine = "empty";
  /** Whether the last byte was a CR. */
  #isAfterCr = false;
  /** Whether the chunk has a CR without an LF after it. */
  #hasLoneCr = false;
  /** Lines of the open event that aren't blank. */
  #lineCount = 0;
  readonly #passesWholeEvents: boolean;
  #isHolding: boolean;
  /** Whether a `finish_reason` has passed. */
  #hasFinished = false;
  latin1 = "";

  constructor(
    reader: EventReader,
    {
      hideUsageChunk,
      passesWholeEvents,
      eventBytesMax,
    }: Required<Pick<StreamTapOptions, "hideUsageChunk" | "passesWholeEvents" | "eventBytesMax">>,
  ) {
    this.#reader = reader;
    this.#hidesUsageChunk = hideUsageChunk;
    this.#passesWholeEvents = passesWholeEvents;
    this.#isHolding = passesWholeEvents;
    this.#eventBytesMax = eventBytesMax;
  }

  get usage(): UsageReading {
    return this.#reader.usage;
  }

  get contentChars(): number {
    return this.#reader.contentChars + this.#largeChars;
  }

  get passedText(): string | null {
    return this.#reader.passedText;
  }

  get otherChars(): number {
    return this.#reader.otherChars;
  }

  get contentCharsSinceUsage(): number {
    return this.#reader.contentCharsSinceUsage + this.#largeChars;
  }

  get reported(): unknown {
    return this.#reader.reported;
  }

  get isBetweenEvents(): boolean {
    return this.#largeEvent === null;
  }

  get #largeChars(): number {
    return this.#largeEvent === null ? 0 : this.#largeEvent.json.textChars;
  }

  get hasSeenError(): boolean {
    return this.#reader.hasSeenError;
  }

  get beginsWithError(): boolean {
    return this.#reader.beginsWithError;
  }

  get finished(): boolean {
    return this.#reader.isOver;
  }

  get hasSeenReasoning(): boolean {
    return this.#reader.hasSeenReasoning;
  }

  get isFailed(): boolean {
    return this.#reader.isFailed;
  }

  get isComplete(): boolean {
    return this.#reader.isComplete;
  }

  get model(): string | null {
    return this.#reader.model;
  }

  get toolCalls(): ToolCalls | undefined {
    return this.#reader.toolCalls;
  }

  get note(): string | null {
    return this.#reader.hasUnreadEvent
      ? `an event of its stream can't be read: it is larger than ${this.#eventBytesMax} bytes, and no JSON`
      : null;
  }

  push(chunk: Buffer): Buffer | readonly Buffer[] | null {
    const text = chunk.toString("latin1");
    this.latin1 = text;
    if (this.#passesWholeEvents) this.#reader.passedText = "";
    this.#hasLoneCr = text.includes("\r") && loneCr.test(text);
    return this.#isHolding ? this.#hold(chunk, text) : this.#pass(chunk, text);
  }

  dropIncomplete(): void {
    this.#openEvent.clear();
    this.#largeEvent = null;
    this.#openLine = "empty";
    this.#isAfterCr = false;
    this.#lineCount = 0;
  }

  end(): Buffer | null {
    if (this.#openLine !== "empty") this.#lineCount++;
    if (this.#largeEvent !== null) {
      this.#readLarge(this.#largeEvent);
      return null;
    }
    if (this.#openEvent.length === 0) return null;
    const wasHolding = this.#isHolding;
    const isUsageOnly = this.#reader.readRest(this.#openEvent.text(), this.#lineCount);
    const isHidden = isUsageOnly && this.#hidesUsageChunk && this.#hasFinished;
    return wasHolding && !isHidden ? this.#openEvent.take() : null;
  }

  /** Passes all bytes on, and reads the events as they pass. */
  #pass(chunk: Buffer, text: string): Buffer | readonly Buffer[] {
    let start = 0;
    for (let end = this.#eventEnd(text, 0); end !== -1; end = this.#eventEnd(text, start)) {
      if (this.#outgrows(end - start))
        this.#readLarge(this.#appendLarge(chunk.subarray(start, end), null));
      else {
        this.#read(this.#completeEvent(chunk, text, start, end));
        this.#openEvent.clear();
      }
      start = end;
      if (!this.#hidesUsageChunk || !this.#reader.isFinished) continue;
      this.#isHolding = true;
      if (start === chunk.length) return chunk;
      const rest = this.#hold(chunk.subarray(start), text.slice(start));
      const first = chunk.subarray(0, start);
      return rest === null ? first : [first].concat(rest);
    }
    if (this.#outgrows(chunk.length - start)) this.#appendLarge(chunk.subarray(start), null);
    else if (start < chunk.length) this.#openEvent.append(chunk, start, chunk.length);
    return chunk;
  }

  /** Passes on complete events except a hidden usage chunk. A large event passes as it comes. */
  #hold(chunk: Buffer, text: string): Buffer | readonly Buffer[] | null {
    const out: Buffer[] = [];
    let start = 0;
    let sent = 0;
    for (let end = this.#eventEnd(text, 0); end !== -1; end = this.#eventEnd(text, start)) {
      if (this.#outgrows(end - start)) {
        this.#readLarge(this.#appendLarge(chunk.subarray(start, end), out));
      } else if (this.#read(this.#completeEvent(chunk, text, start, end))) {
        if (start > sent) out.push(chunk.subarray(sent, start));
        this.#openEvent.clear();
        sent = end;
      } else if (this.#openEvent.length > 0) {
        out.push(this.#openEvent.take());
        sent = end;
      }
      start = end;
    }
    let sendable = start;
    if (start < chunk.length) {
      if (this.#outgrows(chunk.length - start)) {
        this.#appendLarge(chunk.subarray(start), out);
        sendable = chunk.length;
      } else this.#openEvent.append(chunk, start, chunk.length);
    }
    if (out.length === 0 && sent === 0 && sendable === chunk.length) return chunk;
    if (sendable > sent) out.push(chunk.subarray(sent, sendable));
    return out.length === 0 ? null : out;
  }

  /** The position after the blank line that ends the open event; -1 if the text ends first. */
  #eventEnd(text: string, from: number): number {
    if (this.#isAfterCr && text !== "") {
      this.#isAfterCr = false;
      // The CR was a line end of its own.
      if (text[0] !== "\n" && this.#lineEnded()) return from;
    }
    if (this.#hasLoneCr) return this.#eventEndByAny(text, from);
    let line = from;
    for (let feed = text.indexOf("\n", line); feed !== -1; feed = text.indexOf("\n", line)) {
      const blank =
        feed === line
          ? this.#openLine !== "text"
          : feed === line + 1 && this.#openLine === "empty" && text.charCodeAt(line) === 0x0d;
      this.#openLine = "empty";
      line = feed + 1;
      if (blank) return line;
      this.#lineCount++;
    }
    return this.#noEventEnd(text, line);
  }

  /** As `#eventEnd`, for a text with CRs that no LF follows. */
  #eventEndByAny(text: string, from: number): number {
    let line = from;
    const lineEnds = /\r\n|\n|\r(?=[^\n])/g;
    lineEnds.lastIndex = from;
    for (let end = lineEnds.exec(text); end !== null; end = lineEnds.exec(text)) {
      if (end.index > line) this.#openLine = "text";
      line = lineEnds.lastIndex;
      if (this.#lineEnded()) return line;
    }
    return this.#noEventEnd(text, line);
  }

  /** Ends the open line. True if the line is blank, which ends the event. */
  #lineEnded(): boolean {
    const blank = this.#openLine !== "text";
    this.#openLine = "empty";
    if (!blank) this.#lineCount++;
    return blank;
  }

  #noEventEnd(text: string, line: number): -1 {
    if (line < text.length) {
      this.#isAfterCr = text.charCodeAt(text.length - 1) === 0x0d;
      const isCr = this.#openLine === "empty" && line === text.length - 1 && this.#isAfterCr;
      this.#openLine = isCr ? "cr" : "text";
    }
    return -1;
  }

  /** The event that ends at `end`, including its part in earlier chunks. */
  #completeEvent(chunk: Buffer, text: string, start: number, end: number): string {
    if (this.#openEvent.length === 0) return text.slice(start, end);
    this.#openEvent.append(chunk, start, end);
    return this.#openEvent.text();
  }

  /** Whether the open event is too large to keep, or becomes so with this many more bytes. */
  #outgrows(bytes: number): boolean {
    return this.#largeEvent !== null || this.#openEvent.length + bytes > this.#eventBytesMax;
  }

  /**
   * Adds to the large event. While the tap holds events, `out` gets the bytes that were held
   * before.
   */
  #appendLarge(bytes: Buffer, out: Buffer[] | null): LargeEvent {
    const openEvent = this.#openEvent.take();
    if (openEvent.length > 0) out?.push(openEvent);
    if (this.#largeEvent === null) {
      this.#largeEvent = new LargeEvent(this.#reader.texts);
      this.#largeEvent.append(openEvent);
    }
    this.#largeEvent.append(bytes);
    return this.#largeEvent;
  }

  #readLarge({ json }: LargeEvent): void {
    this.#lineCount = 0;
    this.#largeEvent = null;
    this.#reader.readPicked(json);
    this.#hasFinished ||= this.#reader.isFinished;
  }

  /** True if the event isn't for the client. */
  #read(event: string): boolean {
    const lines = this.#lineCount;
    this.#lineCount = 0;
    const isUsageOnly = this.#reader.read(event, lines);
    const isHidden = isUsageOnly && this.#hidesUsageChunk && this.#hasFinished;
    this.#hasFinished ||= this.#reader.isFinished;
    return isHidden;
  }
}

/** An event that isn't held: the JSON in its data lines is read as they pass. */
class LargeEvent {
  readonly json: JsonPicker;
  /** The beginning of the open line, until the kind of the line is known; then null. */
  #lineBeginning: string | null = "";
  #isData = false;

  constructor(texts: ReadonlySet<string>) {
    this.json = new JsonPicker(usagePicks, texts);
  }

  append(bytes: Buffer): void {
    let cr = bytes.indexOf(0x0d);
    for (let position = 0; position < bytes.length; ) {
      if (cr !== -1 && cr < position) cr = bytes.indexOf(0x0d, position);
      const lf = bytes.indexOf(0x0a, position);
      const feed = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      const end = feed === -1 ? bytes.length : feed + 1;
      if (this.#lineBeginning !== null) position = this.#beginLine(bytes, position, end);
      if (this.#lineBeginning === null && this.#isData)
        this.json.append(bytes.subarray(position, end));
      if (feed !== -1) this.#lineBeginning = "";
      position = end;
    }
  }

  /** Reads the beginning of a line to find whether it is data. Returns the position of the rest. */
  #beginLine(bytes: Buffer, position: number, end: number): number {
    const rest = Math.min(end, position + dataField.length - this.#lineBeginning!.length);
    const beginning = this.#lineBeginning! + bytes.toString("latin1", position, rest);
    this.#isData = beginning === dataField;
    this.#lineBeginning = dataField.startsWith(beginning) && !this.#isData ? beginning : null;
    return rest;
  }
}

const dataField = "data:";
