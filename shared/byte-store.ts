/**
 * Bytes gathered in one growing Buffer, so that a stream in tiny pieces costs neither a Buffer nor
 * a copy of all for each. How many may gather is for its owner to bound.
 */

/** Bytes of a stream, as yet without an end. */
export class ByteStore {
  length = 0;
  #bytes = Buffer.alloc(0);

  append(source: Buffer, start = 0, end = source.length): void {
    const needed = this.length + end - start;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(1024, needed * 2));
      this.#bytes.copy(larger, 0, 0, this.length);
      this.#bytes = larger;
    }
    this.length += source.copy(this.#bytes, this.length, start, end);
  }

  text(start = 0): string {
    return this.#bytes.toString("latin1", start, this.length);
  }

  /** Hands the bytes over, and starts anew. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.length);
    this.#bytes = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }

  clear(): void {
    this.length = 0;
  }

  /** Forgets what came last, so that `length` bytes are left. */
  cutTo(length: number): void {
    this.length = Math.min(this.length, length);
  }

  /** Forgets what came first. */
  keepLast(length: number): void {
    if (this.length <= length) return;
    this.#bytes.copyWithin(0, this.length - length, this.length);
    this.length = length;
  }
}
