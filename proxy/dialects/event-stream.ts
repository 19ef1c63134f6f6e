/**
 * Parses and formats server-sent events: bytes split anywhere become events, an event becomes text.
 * It follows the HTML standard, https://html.spec.whatwg.org/multipage/server-sent-events.html:
 * lines end in LF, CR or CRLF, a byte order mark at the start and comments are skipped, and an
 * incomplete event at the end of the stream is discarded.
 *
 * Not here: what the events mean. `proxy/usage/tap-stream.ts` reads streams that pass unchanged.
 */
import { translatedEventCharsMax } from "../../shared/bounds.js";
import type { ClientEvent } from "./shared/translation.js";

export interface StreamEvent {
  /** The value of its `event:` field, or null. */
  readonly event: string | null;
  readonly data: string;
}

const lineEnd = /\r\n|\r|\n/g;

/** Splits the bytes into the same events wherever the chunks end. */
export class EventSplitter {
  readonly #charsMax: number;
  readonly #decoder = new TextDecoder();
  /** The incomplete line at the end. */
  #line = "";
  /** The last byte was a CR. An LF directly after it belongs to the same line end. */
  #isAfterCr = false;
  #event = "";
  #data: string[] = [];
  /** The characters of the open event. */
  #chars = 0;
  #overflow: string | null = null;

  /** `charsMax` bounds one event, including its comments and line ends. */
  constructor(charsMax = translatedEventCharsMax) {
    this.#charsMax = charsMax;
  }

  /**
   * The data received so far of an event that exceeds the bound; null before. That event and all
   * later ones are discarded.
   */
  get overflow(): string | null {
    return this.#overflow;
  }

  /** The characters of the event that isn't complete yet. */
  get openChars(): number {
    return this.#overflow === null ? this.#chars : 0;
  }

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): readonly StreamEvent[] {
    const text = this.#overflow !== null ? "" : this.#decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    const events: StreamEvent[] = [];
    let start = this.#isAfterCr && text.startsWith("\n") ? 1 : 0;
    this.#isAfterCr = text.endsWith("\r");
    // Most streams have no CR.
    const hasCr = text.includes("\r");
    for (let end = nextLineEnd(text, start, hasCr); end !== -1; ) {
      if (!this.#grow(end - start + 1, text, start)) return events;
      const line = this.#line + text.slice(start, end);
      this.#line = "";
      start = end + (hasCr && text.startsWith("\r\n", end) ? 2 : 1);
      if (line === "") this.#dispatch(events);
      else this.#field(line);
      end = nextLineEnd(text, start, hasCr);
    }
    if (this.#grow(text.length - start, text, start)) this.#line += text.slice(start);
    return events;
  }

  /**
   * Counts characters of the open event, which continues at `start`. A line end counts as one, so
   * that a CRLF split between two chunks counts the same as an unsplit one.
   */
  #grow(chars: number, text: string, start: number): boolean {
    this.#chars += chars;
    if (this.#chars <= this.#charsMax) return true;
    this.#overflow = [...this.#data, this.#line + text.slice(start)].join("\n");
    this.#line = "";
    this.#data = [];
    return false;
  }

  #dispatch(events: StreamEvent[]): void {
    const lines = this.#data;
    if (lines.length > 0)
      events.push({
        event: this.#event === "" ? null : this.#event,
        data: lines.length === 1 ? lines[0]! : lines.join("\n"),
      });
    this.#event = "";
    this.#data = [];
    this.#chars = 0;
  }

  /**
   * Ignores `id` and `retry`, which are for clients that reconnect. A comment is a field with an
   * empty name.
   */
  #field(line: string): void {
    if (line.startsWith("data: ")) {
      this.#data.push(line.slice(6));
      return;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
  }
}

/** The place of the next line end; -1 without one. */
function nextLineEnd(text: string, from: number, hasCr: boolean): number {
  if (!hasCr) return text.indexOf("\n", from);
  lineEnd.lastIndex = from;
  return lineEnd.exec(text)?.index ?? -1;
}

/** Data of several lines becomes several `data:` lines. */
export function formatEvent(event: ClientEvent): string {
  const name = event.event === null ? "" : `event: ${event.event}\n`;
  const { data } = event;
  // JSON has no line end, and a search takes less time than a replacement.
  const isOneLine = !data.includes("\n") && !data.includes("\r");
  return `${name}data: ${isOneLine ? data : data.replace(lineEnd, "\ndata: ")}\n\n`;
}
