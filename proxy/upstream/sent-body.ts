/**
 * A body that is sent to a provider. It is held while it may have to be sent again, and then
 * released: an HTTP client keeps its request, and with it the body, until the answer has ended, for
 * a stream minutes later.
 */
import { assert } from "../../shared/assert.js";
import { largeBodyBytes } from "../../shared/bounds.js";

/** Each piece is written separately. */
const pieceBytes = 16 * largeBodyBytes;

export class SentBody {
  /** The length of the body. */
  readonly bytes: number;
  #body: Buffer | null;
  /** In Latin-1. */
  #fields: string | null = null;

  constructor(bytes: Buffer) {
    this.bytes = bytes.length;
    this.#body = bytes;
  }

  /** Whether it is sent in pieces. */
  get isLarge(): boolean {
    return this.bytes >= largeBodyBytes;
  }

  /** The whole body, which is released with the last piece: a generator would keep it. */
  get pieces(): Iterable<Buffer> {
    let rest: Buffer | null = this.wholeBody();
    const next = (): IteratorResult<Buffer> => {
      if (rest === null) return { done: true, value: undefined };
      const value = rest.subarray(0, pieceBytes);
      rest = rest.length > pieceBytes ? rest.subarray(pieceBytes) : null;
      return { done: false, value };
    };
    return { [Symbol.iterator]: () => ({ next }) };
  }

  wholeBody(): Buffer {
    assert(this.#body !== null, "a released body isn't sent again");
    return this.#body;
  }

  /** JSON of the body, or of the fields that were kept when it was released. */
  get fields(): Buffer | null {
    if (this.#body !== null || this.#fields === null) return this.#body;
    return Buffer.from(this.#fields, "latin1");
  }

  /**
   * Releases the body: it won't be sent again. Pieces on their way are sent to the end. `fields`:
   * the JSON, in Latin-1, of fields to keep for the charge of an answer that is lost.
   */
  release(fields: string | null = null): void {
    this.#fields = fields;
    this.#body = null;
  }
}
