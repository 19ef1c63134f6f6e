/**
 * Keeps JSON that is too large to be kept completely, in bounded space as it comes: without its
 * long strings, which are pictures, sound and texts, and never a count. Each becomes an empty one,
 * so what is left is JSON of the same shape. If that is still too large, only its end is kept,
 * where usage is.
 *
 * Not here: what it means.
 */
import { ByteBuffer } from "../../shared/byte-buffer.js";
import { endsEscaping } from "./scan-json.js";

/** One string may take the bound divided by this. */
const stringRatio = 64;
/** How much before a string is given to `isText`: enough for its key. */
const keyBytesMax = 64;

export class ElidedJson {
  /** The bytes of the elided strings that are text of the answer. */
  textBytes = 0;
  /** Even without long strings it was too large: only its end is kept. */
  onlyTail = false;
  readonly #bytesMax: number;
  readonly #stringBytesMax: number;
  readonly #isText: (before: string) => boolean;
  readonly #store = new ByteBuffer();
  #inString = false;
  /** The last byte was a backslash that escapes the next one. */
  #escaped = false;
  /** Of the open string. */
  #stringBytes = 0;
  #countsAsText = false;

  /**
   * `isText`: whether a string after these bytes, which end in its opening quote, is text of the
   * answer.
   */
  constructor(bytesMax: number, isText: (before: string) => boolean) {
    this.#bytesMax = bytesMax;
    this.#stringBytesMax = bytesMax / stringRatio;
    this.#isText = isText;
  }

  /** `text` is the Latin-1 reading of the bytes. */
  append(bytes: Buffer, text = bytes.toString("latin1")): void {
    /** What comes from here on hasn't been kept yet. */
    let from = 0;
    let at = 0;
    while (at < text.length) {
      if (!this.#inString) {
        const quote = text.indexOf('"', at);
        if (quote === -1) break;
        this.#inString = true;
        this.#stringBytes = 0;
        at = quote + 1;
        continue;
      }
      const end = this.#stringEnd(text, at);
      const stop = end === -1 ? text.length : end;
      const before = this.#stringBytes;
      this.#stringBytes += stop - at;
      if (this.#stringBytes > this.#stringBytesMax) {
        this.#keep(bytes, from, at);
        this.#elide(before, stop - at);
        from = stop;
      }
      if (end === -1) break;
      this.#inString = false;
      at = end + 1;
    }
    this.#keep(bytes, from, bytes.length);
  }

  /** The position of the quote that ends the open string, or -1. */
  #stringEnd(text: string, from: number): number {
    let first = this.#escaped ? from + 1 : from;
    this.#escaped = false;
    for (let end = text.indexOf('"', first); end !== -1; end = text.indexOf('"', first)) {
      if (!endsEscaping(text, first, end)) return end;
      first = end + 1;
    }
    this.#escaped = endsEscaping(text, first, text.length);
    return -1;
  }

  /**
   * Elides `more` bytes of the open string, of which `before` bytes came earlier; those are removed
   * when the string outgrows its bound.
   */
  #elide(before: number, more: number): void {
    if (before > this.#stringBytesMax) {
      if (this.#countsAsText) this.textBytes += more;
      return;
    }
    this.#store.cutTo(this.#store.length - before);
    this.#countsAsText = this.#isText(
      this.#store.text(Math.max(0, this.#store.length - keyBytesMax)),
    );
    if (this.#countsAsText) this.textBytes += before + more;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    if (start >= end) return;
    this.#store.append(bytes, start, end);
    if (this.#store.length <= this.#bytesMax) return;
    this.onlyTail = true;
    this.#store.keepLast(this.#bytesMax / 2);
  }

  /** What is kept, in Latin-1. */
  text(): string {
    return this.#store.text();
  }

  /** What is kept, as bytes; nothing is kept after that. */
  take(): Buffer {
    return this.#store.take();
  }
}
