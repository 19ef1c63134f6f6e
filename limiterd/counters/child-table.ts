/**
 * Names, each with six numbers and two marks, a million of them if need be, in a few hundred blocks
 * of memory instead of in objects: the garbage collector has nothing to walk through and nothing to
 * copy. Nothing is ever done to all of them in one go, but at a start, when nobody waits: the table
 * grows and shrinks by one bucket at a time (linear hashing) and by blocks of one size. How a
 * record lies in its block is in `child-record.ts`, what the numbers mean in `children.ts`.
 */
import { Buckets, smallestBuckets } from "./child-buckets.js";
import { type NameReader, nameWords, readName } from "./child-name.js";
import {
  Block,
  blockShift,
  dirtyMark,
  goneMark,
  isNamed,
  numbersPerRecord,
  outMark,
  recordUnits,
  unitsAhead,
  unitsPerBlock,
  wordOf,
  wordsAhead,
} from "./child-record.js";

/** Most templates have few children, so the first block of a table begins small. */
const smallestBlock = 32;

/** Where a walk through a table stands. */
export interface Walk {
  /**
   * The place of the next record, −1 after the last one. Those that are added or moved meanwhile
   * may be met too.
   */
  next(): number;
}

export class ChildTable {
  size = 0;
  readonly #asked: NameReader;
  readonly #blocks: (Block | null)[] = [new Block(smallestBlock)];
  /** The block that takes new records. */
  #open = 0;
  /** Places in `#blocks` where there is none. */
  readonly #free: number[] = [];
  readonly #buckets = new Buckets();

  constructor(asked: NameReader) {
    this.#asked = asked;
  }

  /**
   * The place of a name, −1 when it isn't there. It stands until the record is removed or moved.
   */
  find(name: string): number {
    const asked = this.#asked;
    asked.read(name);
    let place = this.#buckets.first(this.#buckets.of(asked.hash));
    while (place !== -1) {
      const { words } = this.#blockOf(place);
      const at = wordOf(place);
      if (words[at + 1] === asked.hash && isNamed(words, at, asked)) return place;
      place = words[at]!;
    }
    return -1;
  }

  /** Adds a name that isn't there, without marks. Its numbers are to be set. */
  add(name: string): number {
    const asked = this.#asked;
    asked.read(name);
    this.size++;
    if (this.size > this.#buckets.count) this.#split();
    const place = this.#append(asked.head, asked.hash, asked.words, 0);
    this.#putFirst(asked.hash, place);
    return place;
  }

  /**
   * As `add`, but it isn't found until `link`: a million that come at once need no bucket split for
   * each.
   */
  load(name: string): number {
    const asked = this.#asked;
    asked.read(name);
    this.size++;
    return this.#append(asked.head, asked.hash, asked.words, 0);
  }

  /** Makes the buckets for all that were loaded and puts them in. Nothing was added otherwise. */
  link(): void {
    while (this.size > this.#buckets.count) this.#buckets.add();
    for (const walk = this.walk(); ; ) {
      const place = walk.next();
      if (place === -1) return;
      this.#putFirst(this.#blockOf(place).words[wordOf(place) + 1]!, place);
    }
  }

  remove(place: number): void {
    this.#unlink(place);
    this.#leave(place);
    this.size--;
    // Two buckets for one record, so that the buckets keep up from twice as many.
    for (
      let i = 0;
      i < 2 && this.#buckets.count > smallestBuckets && this.size < this.#buckets.count / 2;
      i++
    )
      this.#share(this.#buckets.removeLast());
  }

  /**
   * Moves a record out of a block of which most is gone, so that the block can be given back. One
   * with a mark stays: somebody keeps its place.
   */
  tidy(place: number): void {
    const block = this.#blockOf(place);
    const at = wordOf(place);
    const head = block.words[at + 2]!;
    if (
      place >> blockShift === this.#open ||
      block.liveUnits * 2 > unitsPerBlock ||
      (head & (dirtyMark | outMark)) !== 0
    )
      return;
    this.#unlink(place);
    const moved = this.#append(head, block.words[at + 1]!, block.words, at + wordsAhead);
    this.#putFirst(block.words[at + 1]!, moved);
    const [from, to] = [this.numbersAt(place), this.numbersAt(moved)];
    const numbers = this.numbers(moved);
    for (let i = 0; i < numbersPerRecord; i++) numbers[to + i] = block.numbers[from + i]!;
    this.#leave(place);
  }

  name(place: number): string {
    const { words, bytes } = this.#blockOf(place);
    const at = wordOf(place);
    return readName(bytes, (at + wordsAhead) * 4, words[at + 2]!);
  }

  /**
   * Where the six numbers of a record lie: here, from `numbersAt` on, until the next record is
   * added.
   */
  numbers(place: number): Float64Array {
    return this.#blockOf(place).numbers;
  }

  numbersAt(place: number): number {
    return (
      (place & (unitsPerBlock - 1)) + unitsAhead(this.#blockOf(place).words[wordOf(place) + 2]!)
    );
  }

  hasMark(place: number, mark: number): boolean {
    return (this.#blockOf(place).words[wordOf(place) + 2]! & mark) !== 0;
  }

  setMark(place: number, mark: number): void {
    this.#blockOf(place).words[wordOf(place) + 2]! |= mark;
  }

  clearMark(place: number, mark: number): void {
    this.#blockOf(place).words[wordOf(place) + 2]! &= ~mark;
  }

  walk(): Walk {
    const blocks = this.#blocks;
    let index = 0;
    let block = blocks[0]!;
    let unit = 0;
    return {
      next() {
        for (;;) {
          // A block that was given back on the way may have been followed by another one.
          if (block !== null && blocks[index] === block && unit < block.usedUnits) {
            const head = block.words[(unit << 1) + 2]!;
            const place = (index << blockShift) | unit;
            unit += recordUnits(head);
            if ((head & goneMark) === 0) return place;
          } else if (index === blocks.length - 1) return -1;
          else {
            block = blocks[++index]!;
            unit = 0;
          }
        }
      },
    };
  }

  #blockOf(place: number): Block {
    return this.#blocks[place >> blockShift]!;
  }

  /** Writes a record into the open block; no bucket holds it yet. */
  #append(head: number, hash: number, from: Int32Array, nameAt: number): number {
    const units = recordUnits(head);
    const block = this.#blockFor(units);
    const place = (this.#open << blockShift) | block.usedUnits;
    const at = wordOf(place);
    block.words[at + 1] = hash;
    block.words[at + 2] = head;
    for (let i = 0, count = nameWords(head); i < count; i++)
      block.words[at + wordsAhead + i] = from[nameAt + i]!;
    block.usedUnits += units;
    block.liveUnits += units;
    return place;
  }

  /** The open block; when it has no room for this, it is enlarged or another one is opened. */
  #blockFor(units: number): Block {
    const open = this.#blocks[this.#open]!;
    while (open.usedUnits + units > open.numbers.length && open.numbers.length < unitsPerBlock)
      open.enlarge();
    if (open.usedUnits + units <= open.numbers.length) return open;
    const full = this.#open;
    const next = new Block(unitsPerBlock);
    this.#open = this.#free.pop() ?? this.#blocks.length;
    this.#blocks[this.#open] = next;
    this.#giveBackEmpty(full);
    return next;
  }

  /** Marks a record that no bucket holds any more as gone. */
  #leave(place: number): void {
    const block = this.#blockOf(place);
    block.liveUnits -= recordUnits(block.words[wordOf(place) + 2]!);
    block.words[wordOf(place) + 2]! |= goneMark;
    this.#giveBackEmpty(place >> blockShift);
  }

  #giveBackEmpty(index: number): void {
    if (index === this.#open || this.#blocks[index]!.liveUnits > 0) return;
    this.#blocks[index] = null;
    this.#free.push(index);
  }

  /** Puts a record first in the bucket of its hash. */
  #putFirst(hash: number, place: number): void {
    const bucket = this.#buckets.of(hash);
    this.#blockOf(place).words[wordOf(place)] = this.#buckets.first(bucket);
    this.#buckets.setFirst(bucket, place);
  }

  #unlink(place: number): void {
    const { words } = this.#blockOf(place);
    const next = words[wordOf(place)]!;
    const bucket = this.#buckets.of(words[wordOf(place) + 1]!);
    let before = this.#buckets.first(bucket);
    if (before === place) return this.#buckets.setFirst(bucket, next);
    for (;;) {
      const block = this.#blockOf(before);
      const after = block.words[wordOf(before)]!;
      if (after === place) {
        block.words[wordOf(before)] = next;
        return;
      }
      before = after;
    }
  }

  /** One bucket more, for some of the records of one that was there. */
  #split(): void {
    const parent = this.#buckets.add();
    const place = this.#buckets.first(parent);
    this.#buckets.setFirst(parent, -1);
    this.#share(place);
  }

  /**
   * Puts each record of a bucket that was taken apart, from its first one on, where it belongs now.
   */
  #share(place: number): void {
    while (place !== -1) {
      const { words } = this.#blockOf(place);
      const next = words[wordOf(place)]!;
      this.#putFirst(words[wordOf(place) + 1]!, place);
      place = next;
    }
  }
}
