/**
 * Splits a stream into pieces in which at most one event ends, so that it can pause or end after
 * any of them. Lines end in LF, CRLF or a lone CR: only the byte after a CR shows whether the
 * event has ended, so that byte is in its piece.
 */
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class EventPieces {
  #chunk: Buffer = Buffer.alloc(0);
  /** The position of the next CR, or an earlier position; -1 if there is none. */
  #cr = -1;
  /** Whether the current line is empty so far, and not the first one of an event. */
  #isLineEmpty = false;
  /** Whether the last byte was a CR that ends an event. */
  #isAtCr = false;

  /** Splits a chunk. The pieces together are the chunk; the last one may be a part of an event. */
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

  /** Returns the chunk as one piece, in which any number of events may end. */
  asOnePiece(chunk: Buffer): Buffer {
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

  #behindCr(position: number): number {
    const bytes = this.#chunk;
    this.#isAtCr = position === bytes.length;
    if (this.#isAtCr) return position;
    this.#isLineEmpty = bytes[position] === lineFeed || bytes[position] === carriageReturn;
    return position + 1;
  }
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === lineFeed || byte === carriageReturn;
}
