/**
 * The layout of a child's record in a block of memory, in words of 4 bytes: the place of the next
 * record in its bucket, the hash of its name, the head (marks and the name's length), the name,
 * padded to a whole unit, and six numbers. A place is the number of a block and of a unit in it.
 */
import { type NameReader, nameWords } from "./child-name.js";

/** The marks: bits 0 to 2 of a head. */
export const dirtyMark = 1;
export const checkedOutMark = 2;
export const goneMark = 4;

export const numbersPerRecord = 6;
/** The words before the name: next, hash and head. */
export const wordsAhead = 3;
/** A unit has 8 bytes: one number or two words. */
export const blockShift = 13;
export const unitsPerBlock = 1 << blockShift;

/**
 * A block of consecutive records. Its memory is a SharedArrayBuffer although it isn't shared: V8
 * counts other buffers against a limit of 64 MB; beyond it, every further buffer, even a frame's,
 * causes 5 to 10 ms of garbage collection until all live objects have been visited.
 */
export class Block {
  numbers!: Float64Array;
  words!: Int32Array;
  bytes!: Buffer;
  usedUnits = 0;
  /** The units without removed records. */
  liveUnits = 0;

  constructor(units: number) {
    this.#lay(new SharedArrayBuffer(units * 8));
  }

  /** Doubles the block. */
  enlarge(): void {
    const { words } = this;
    this.#lay(new SharedArrayBuffer(words.byteLength * 2));
    this.words.set(words);
  }

  #lay(memory: SharedArrayBuffer): void {
    this.numbers = new Float64Array(memory);
    this.words = new Int32Array(memory);
    this.bytes = Buffer.from(memory);
  }
}

/** Where a record begins among the words of its block. */
export function wordOf(place: number): number {
  return (place & (unitsPerBlock - 1)) << 1;
}

export function unitsAhead(head: number): number {
  return (wordsAhead + nameWords(head) + 1) >> 1;
}

export function recordUnits(head: number): number {
  return unitsAhead(head) + numbersPerRecord;
}

export function isNamed(words: Int32Array, at: number, query: NameReader): boolean {
  if ((words[at + 2]! & ~(dirtyMark | checkedOutMark | goneMark)) !== query.head) return false;
  for (let i = 0, count = nameWords(query.head); i < count; i++)
    if (words[at + wordsAhead + i] !== query.words[i]) return false;
  return true;
}
