/**
 * JSON that is too large to be kept, told in a bounded space as it comes: without its long strings,
 * which are pictures, sound and whole texts, and never a count. Each becomes an empty one, so what
 * is left is JSON with the same shape. If that is still too large, its end is kept, where usage
 * stands.
 *
 * Not here: what it means.
 */
import { ByteStore } from "../../shared/byte-store.js";
import { endsEscaping } from "./scan-json.js";

/** The share of the bound that one string may take. */
const stringShare = 64;
/** What stands before a string and tells what it is: a key. */
const keyBytesMax = 64;

export class ElidedJson {
  /** The bytes of the strings left out that are text of the answer. */
  textBytes = 0;
  /** Only its end is kept. */
  onlyTail = false;
  readonly #bytesMax: number;
  readonly #stringBytesMax: number;
  readonly #isText: (before: string) => boolean;
  readonly #store = new ByteStore();
  #inString = false;
  /** The last byte was a backslash that escapes the next one. */
  #escaped = false;
  /** Of the open string. */
  #stringBytes = 0;
  #countsAsText = false;

  /**
   * `isText`: whether a string behind these last bytes, which end in its opening quote, is text of
   * the answer.
   */
  constructor(bytesMax: number, isText: (before: string) => boolean) {
    this.#bytesMax = bytesMax;
    this.#stringBytesMax = bytesMax / stringShare;
    this.#isText = isText;
  }

  /** `text` is the Latin-1 reading of the bytes. */
  append(bytes: Buffer, text = bytes.toString("latin1")): void {
    /** From here on nothing is kept yet. */
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
        this.#leaveOut(before, stop - at);
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

  /** Of the open string `before` bytes came earlier; at the first time, they are still kept. */
  #leaveOut(before: number, more: number): void {
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

  /** What is left of it, in Latin-1. */
  text(): string {
    return this.#store.text();
  }

  /** The same as bytes, handed over. */
  take(): Buffer {
    return this.#store.take();
  }
}
