/**
 * What has arrived of a stream, in pieces in which at most one event ends, so that it can pause or
 * end after any of them. Lines end in LF, CRLF or a lone CR: only the byte behind a CR shows
 * whether the event has ended, so that byte is in its piece.
 */
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const nothing = Buffer.alloc(0);

export class EventPieces {
  #bytes: Buffer = nothing;
  /** What is before was taken. */
  #at = 0;
  /** Where the next CR is, or one before; -1 without any. */
  #cr = -1;
  /** Whether the current line is empty so far, and follows another one. */
  #isLineEmpty = false;
  /** The last byte was a CR that ends an event. */
  #isAtCr = false;

  get isEmpty(): boolean {
    return this.#at === this.#bytes.length;
  }

  add(chunk: Buffer): void {
    this.#bytes = this.isEmpty ? chunk : Buffer.concat([this.takeAll(), chunk]);
    this.#at = 0;
    this.#cr = this.#bytes.indexOf(carriageReturn);
  }

  /** Whatever is left; empty if nothing is. */
  takeAll(): Buffer {
    const rest = this.#bytes.subarray(this.#at);
    this.#at = this.#bytes.length;
    return rest;
  }

  /** Null if nothing is left. The last piece may be a part of an event. */
  next(): Buffer | null {
    if (this.isEmpty) return null;
    const from = this.#at;
    this.#at = this.#isAtCr ? this.#behindCr(from) : this.#endFrom(from);
    return from === 0 && this.isEmpty ? this.#bytes : this.#bytes.subarray(from, this.#at);
  }

  #endFrom(from: number): number {
    const bytes = this.#bytes;
    for (let line = from; line < bytes.length; ) {
      const feed = bytes.indexOf(lineFeed, line);
      if (this.#cr !== -1 && this.#cr < line) this.#cr = bytes.indexOf(carriageReturn, line);
      const isCr = this.#cr !== -1 && (feed === -1 || this.#cr < feed);
      const end = isCr ? this.#cr : feed;
      if (end !== line) this.#isLineEmpty = false;
      if (end === -1) break;
      if (this.#isLineEmpty) return isCr ? this.#behindCr(end + 1) : end + 1;
      this.#isLineEmpty = true;
      line = isCr && bytes[end + 1] === lineFeed ? end + 2 : end + 1;
    }
    return bytes.length;
  }

  #behindCr(at: number): number {
    const bytes = this.#bytes;
    this.#isAtCr = at === bytes.length;
    if (this.#isAtCr) return at;
    this.#isLineEmpty = bytes[at] === lineFeed || bytes[at] === carriageReturn;
    return at + 1;
  }
}
