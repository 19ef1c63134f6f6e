/**
 * A large body on its way to a provider. It is held while it may have to be sent again, and then
 * released: an HTTP client keeps its request, and with it the body, until the answer has ended,
 * which for a stream may be minutes later.
 */
import { Readable } from "node:stream";
import { assert } from "../../shared/assert.js";
import { largeBodyBytes } from "../../shared/bounds.js";

/** Each piece is a write of its own. */
const pieceBytes = 16 * largeBodyBytes;

const nothing = Buffer.alloc(0);

export class LargeBody {
  /** The length of the body. */
  readonly bytes: number;
  #held: Buffer | null;
  #fields: Buffer | null = null;

  constructor(held: Buffer) {
    this.bytes = held.length;
    this.#held = held;
  }

  /** The whole body. The stream releases it once it is read. */
  get pieces(): Readable {
    let rest = this.whole();
    return new Readable({
      read() {
        this.push(rest.subarray(0, pieceBytes));
        rest = rest.subarray(pieceBytes);
        if (rest.length > 0) return;
        rest = nothing;
        this.push(null);
      },
    });
  }

  whole(): Buffer {
    assert(this.#held !== null, "a released body isn't sent again");
    return this.#held;
  }

  /** JSON of the body, or of the fields that were kept when it was released. */
  get fields(): Buffer | null {
    return this.#held ?? this.#fields;
  }

  /**
   * Releases the body: it won't be sent again. Pieces on their way are sent to the end. `fields`:
   * the JSON of fields to keep for the charge of an answer that is lost.
   */
  release(fields: Buffer | null = null): void {
    this.#fields = fields;
    this.#held = null;
  }
}
