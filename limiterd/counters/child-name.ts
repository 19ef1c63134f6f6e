/**
 * A child's name as a table's words, and their hash. Callers choose the names, so the hash is keyed
 * (HalfSipHash-1-3): without the key, names that share a bucket can't be found.
 */
import { assert } from "../../shared/assert.js";

/** Two random 32-bit integers. */
export type HashKey = readonly [number, number];

/** Maximum length of a name: a user path has at most 1,024 bytes, a key of the store 1,970. */
const charsMax = 2048;

/**
 * The lowest bits of a head are a record's marks; the next bit is set if each character takes two
 * bytes; the rest is the number of characters.
 */
const wideBit = 8;
const lengthShift = 4;

/** The number of words of a name, from its head. */
export function nameWords(head: number): number {
  const length = head >>> lengthShift;
  return (head & wideBit) === 0 ? (length + 3) >> 2 : (length + 1) >> 1;
}

/** The name at a byte offset. */
export function readName(bytes: Buffer, from: number, head: number): string {
  const length = head >>> lengthShift;
  return (head & wideBit) === 0
    ? bytes.toString("latin1", from, from + length)
    : bytes.toString("utf16le", from, from + 2 * length);
}

/** Splits names into words, one at a time. */
export class NameReader {
  /** The name's characters, a byte or two each, zeros after the last. */
  readonly words = new Int32Array(charsMax / 2);
  head = 0;
  hash = 0;
  readonly #bytes = new Uint8Array(this.words.buffer);
  readonly #units = new Uint16Array(this.words.buffer);
  readonly #key0: number;
  readonly #key1: number;

  constructor([key0, key1]: HashKey) {
    this.#key0 = key0 | 0;
    this.#key1 = key1 | 0;
  }

  /** Sets words, head and hash to those of this name. */
  read(name: string): void {
    const { length } = name;
    assert(length <= charsMax, "a name has a bound");
    const bytes = this.#bytes;
    let all = 0;
    for (let i = 0; i < length; i++) {
      const unit = name.charCodeAt(i);
      bytes[i] = unit;
      all |= unit;
    }
    if (all < 256) {
      for (let i = length; (i & 3) !== 0; i++) bytes[i] = 0;
      this.head = length << lengthShift;
    } else {
      for (let i = 0; i < length; i++) this.#units[i] = name.charCodeAt(i);
      if ((length & 1) !== 0) this.#units[length] = 0;
      this.head = (length << lengthShift) | wideBit;
    }
    this.hash = this.#hashWords(nameWords(this.head));
  }

  #hashWords(count: number): number {
    const { words, head } = this;
    const key0 = this.#key0;
    const key1 = this.#key1;
    let v0 = key0;
    let v1 = key1;
    let v2 = 0x6c796765 ^ key0;
    let v3 = 0x74656462 ^ key1;
    // One round for each word and one for the head, then three more.
    for (let i = 0; i < count + 4; i++) {
      const word = i < count ? words[i]! : i === count ? head : 0;
      v3 ^= word;
      if (i === count + 1) v2 ^= 0xff;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    return v1 ^ v3;
  }
}
