/**
 * Just enough of HTTP/1.1 to see where a response ends: content-length and chunked bodies, one
 * response at a time, however it is cut. The load generator shares two cores with what it measures,
 * so it must be cheap: a stream of hundreds of pieces is looked at once.
 */

export interface ResponseReader {
  /**
   * What came of this chunk: `pending` until the response is whole, then its status; `broken` for
   * what isn't a response.
   */
  feed(chunk: Buffer): number;
  /**
   * Whether a byte of the body has come, of the response that is being read or of the one that has
   * just ended.
   */
  readonly bodyBegun: boolean;
}

export const pending = 0;
export const broken = -1;

const headEnd = Buffer.from("\r\n\r\n");
const lineFeed = 0x0a;
/** A size line longer than this is none. */
const sizeLineBytesMax = 32;

export function createResponseReader(): ResponseReader {
  return new Reader();
}

class Reader implements ResponseReader {
  bodyBegun = false;
  /** What came of a head that isn't whole; null while a body is read. */
  #head: Buffer | null = empty;
  #status = 0;
  #chunked = false;
  /** Bytes still to come: of the body, or of a chunk with its line end. */
  #left = 0;
  /** What came of a line with a chunk's size. */
  #sizeLine = "";
  #lastChunk = false;

  feed(chunk: Buffer): number {
    if (this.#head === null) return this.#body(chunk, 0);
    const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    this.bodyBegun = false;
    const end = bytes.indexOf(headEnd);
    if (end < 0) {
      this.#head = bytes;
      return pending;
    }
    const head = bytes.toString("latin1", 0, end).toLowerCase();
    const status = /^http\/1\.1 (\d{3})/.exec(head);
    const length = /\r\ncontent-length: *(\d+)/.exec(head);
    this.#chunked = length === null && /\r\ntransfer-encoding: *chunked/.test(head);
    if (status === null || (length === null && !this.#chunked)) return broken;
    this.#status = Number(status[1]);
    this.#left = length === null ? 0 : Number(length[1]);
    this.#head = null;
    return this.#body(bytes, end + headEnd.length);
  }

  #body(bytes: Buffer, from: number): number {
    if (from < bytes.length) this.bodyBegun = true;
    let at = from;
    while (this.#left > 0 || this.#chunked) {
      if (this.#left > 0) {
        const take = Math.min(this.#left, bytes.length - at);
        at += take;
        this.#left -= take;
        if (this.#left > 0) return pending;
        if (!this.#chunked || this.#lastChunk) break;
      }
      const feed = bytes.indexOf(lineFeed, at);
      this.#sizeLine += bytes.toString("latin1", at, feed < 0 ? bytes.length : feed);
      if (this.#sizeLine.length > sizeLineBytesMax) return broken;
      if (feed < 0) return pending;
      const size = Number.parseInt(this.#sizeLine, 16);
      if (!(size >= 0)) return broken;
      this.#sizeLine = "";
      this.#lastChunk = size === 0;
      this.#left = size + 2;
      at = feed + 1;
    }
    if (at < bytes.length) return broken;
    this.#head = empty;
    this.#lastChunk = false;
    return this.#status;
  }
}

const empty = Buffer.alloc(0);
