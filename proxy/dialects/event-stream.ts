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
  #afterCr = false;
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
    let start = this.#afterCr && text.startsWith("\n") ? 1 : 0;
    this.#afterCr = text.endsWith("\r");
    lineEnd.lastIndex = start;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      if (!this.#grow(end.index - start + 1, text, start)) return events;
      const line = this.#line + text.slice(start, end.index);
      this.#line = "";
      start = lineEnd.lastIndex;
      if (line === "") this.#dispatch(events);
      else this.#field(line);
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
    if (this.#data.length > 0)
      events.push({ event: this.#event === "" ? null : this.#event, data: this.#data.join("\n") });
    this.#event = "";
    this.#data = [];
    this.#chars = 0;
  }

  /**
   * Ignores `id` and `retry`, which are for clients that reconnect. A comment is a field with an
   * empty name.
   */
  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
  }
}

/** Data of several lines becomes several `data:` lines. */
export function formatEvent(event: ClientEvent): string {
  const name = event.event === null ? "" : `event: ${event.event}\n`;
  return `${name}data: ${event.data.replace(lineEnd, "\ndata: ")}\n\n`;
}
