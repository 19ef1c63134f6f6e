/**
 * Splits a stream into pieces in which at most one event ends, so that it can pause or end after
 * any of them. Lines end in LF, CRLF or a lone CR: only the byte after a CR shows whether the
 * event has ended, so that byte is in its piece.
 */
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class EventPieces {
  #chunk: Buffer = Buffer.alloc(0);
  /** Where the next CR is, or one before; -1 without any. */
  #cr = -1;
  /** Whether the current line is empty so far, and follows another one. */
  #isLineEmpty = false;
  /** The last byte was a CR that ends an event. */
  #isAtCr = false;

  /** Together they are the chunk. The last one may be a part of an event. */
  split(chunk: Buffer): readonly Buffer[] {
    this.#chunk = chunk;
    this.#cr = chunk.indexOf(carriageReturn);
    const pieces: Buffer[] = [];
    for (let from = 0; from < chunk.length; ) {
      const end = this.#isAtCr ? this.#behindCr(from) : this.#endFrom(from);
      pieces.push(end - from === chunk.length ? chunk : chunk.subarray(from, end));
      from = end;
    }
    return pieces;
  }

  /** The chunk as one piece, in which any number of events may end. */
  whole(chunk: Buffer): Buffer {
    this.#isLineEmpty = isLineEnd(chunk.at(-1));
    this.#isAtCr = chunk.at(-1) === carriageReturn && isLineEnd(chunk.at(-2));
    return chunk;
  }

  #endFrom(from: number): number {
    const bytes = this.#chunk;
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
    const bytes = this.#chunk;
    this.#isAtCr = at === bytes.length;
    if (this.#isAtCr) return at;
    this.#isLineEmpty = bytes[at] === lineFeed || bytes[at] === carriageReturn;
    return at + 1;
  }
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === lineFeed || byte === carriageReturn;
}
