/**
 * Collects bytes in one growing Buffer: a stream of tiny pieces costs neither a Buffer per piece
 * nor a copy of everything per piece. The owner bounds the size.
 */

/** The bytes of a stream so far. */
export class ByteBuffer {
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

  /** The bytes from `start`, each as one character. */
  text(start = 0): string {
    return this.#bytes.toString("latin1", start, this.length);
  }

  /** Returns the bytes and empties the buffer. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.length);
    this.#bytes = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }

  clear(): void {
    this.length = 0;
  }

  /** Drops the last bytes, so that `length` are left. */
  cutTo(length: number): void {
    this.length = Math.min(this.length, length);
  }

  /** Drops the first bytes, so that `length` are left. */
  keepLast(length: number): void {
    if (this.length <= length) return;
    this.#bytes.copyWithin(0, this.length - length, this.length);
    this.length = length;
  }
}
