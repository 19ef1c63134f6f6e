/**
 * The body of a request in one Buffer while it comes. Memory is taken as it grows: a client that
 * announces much and sends nothing holds none, and one that sends single bytes holds no Buffer for
 * each.
 */

/** Beyond its first piece a body gets so much at the least, or what is announced. */
const grownBytesMin = 64 * 1024;

export interface BodyMemory {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

const nothing = Buffer.alloc(0);

export class HeldBody {
  length = 0;
  readonly #announced: number;
  readonly #memory: BodyMemory;
  /** A body that comes in one piece, as most do, isn't copied. */
  #bytes: Buffer = nothing;

  /** `announced`: its Content-Length, or Infinity. */
  constructor(announced: number, memory: BodyMemory) {
    this.#announced = announced;
    this.#memory = memory;
  }

  /** False: there is no memory for this piece. */
  append(piece: Buffer): boolean {
    const length = this.length + piece.length;
    if (this.length === 0) {
      if (!this.#memory.take(piece.length)) return false;
      this.#bytes = piece;
    } else {
      if (length > this.#bytes.length && !this.#grow(length)) return false;
      piece.copy(this.#bytes, this.length);
    }
    this.length = length;
    return true;
  }

  #grow(needed: number): boolean {
    const doubled = Math.max(grownBytesMin, 2 * this.#bytes.length);
    const size = Math.max(needed, Math.min(this.#announced, doubled));
    if (!this.#memory.take(size - this.#bytes.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
    return true;
  }

  /** It is refused: its memory is free. */
  discard(): void {
    this.#memory.give(this.#bytes.length);
    this.#bytes = nothing;
    this.length = 0;
  }

  /** All of it, in no more memory than its length. It is the caller's; nothing is kept here. */
  take(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = nothing;
    const spare = bytes.length - this.length;
    if (spare === 0) return bytes;
    const exact = Buffer.allocUnsafeSlow(this.length);
    bytes.copy(exact, 0, 0, this.length);
    this.#memory.give(spare);
    return exact;
  }
}
