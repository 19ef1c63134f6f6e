/**
 * Names, each with six numbers and two marks, a million of them if need be, in a few hundred blocks
 * of memory instead of in objects: the garbage collector has nothing to walk through and nothing to
 * copy. Nothing is ever done to all of them at once: the table grows and shrinks by one bucket at a
 * time (linear hashing) and by blocks of one size. How a record lies in its block is in
 * `child-record.ts`, what the numbers mean in `child-numbers.ts`.
 */
import { RecordBlocks, type Walk } from "./child-blocks.js";
import { Buckets, smallestBuckets } from "./child-buckets.js";
import { type NameReader, readName } from "./child-name.js";
import {
  checkedOutMark,
  dirtyMark,
  isNamed,
  numbersPerRecord,
  unitsAhead,
  unitsPerBlock,
  wordOf,
  wordsAhead,
} from "./child-record.js";

export class ChildTable {
  size = 0;
  readonly #query: NameReader;
  readonly #blocks = new RecordBlocks();
  readonly #buckets = new Buckets();

  constructor(query: NameReader) {
    this.#query = query;
  }

  /**
   * The place of a name, −1 when it isn't there. It is valid until the record is removed or moved.
   */
  find(name: string): number {
    const query = this.#query;
    query.read(name);
    let place = this.#buckets.first(this.#buckets.of(query.hash));
    while (place !== -1) {
      const { words } = this.#blocks.at(place);
      const at = wordOf(place);
      if (words[at + 1] === query.hash && isNamed(words, at, query)) return place;
      place = words[at]!;
    }
    return -1;
  }

  /** Adds a name that isn't there, without marks. Its numbers are to be set. */
  add(name: string): number {
    const query = this.#query;
    query.read(name);
    this.size++;
    if (this.size > this.#buckets.count) this.#split();
    const place = this.#blocks.append(query.head, query.hash, query.words, 0);
    this.#putFirst(query.hash, place);
    return place;
  }

  remove(place: number): void {
    this.#unlink(place);
    this.#blocks.remove(place);
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
   * Moves a record out of a block of which most is gone, so that the block can be given back. A
   * marked record stays: its place is kept elsewhere.
   */
  tidy(place: number): void {
    const block = this.#blocks.at(place);
    const at = wordOf(place);
    const head = block.words[at + 2]!;
    if (!this.#blocks.isSparse(place) || (head & (dirtyMark | checkedOutMark)) !== 0) return;
    this.#unlink(place);
    const moved = this.#blocks.append(head, block.words[at + 1]!, block.words, at + wordsAhead);
    this.#putFirst(block.words[at + 1]!, moved);
    const [from, to] = [this.numbersAt(place), this.numbersAt(moved)];
    const numbers = this.numbers(moved);
    for (let i = 0; i < numbersPerRecord; i++) numbers[to + i] = block.numbers[from + i]!;
    this.#blocks.remove(place);
  }

  name(place: number): string {
    const { words, bytes } = this.#blocks.at(place);
    const at = wordOf(place);
    return readName(bytes, (at + wordsAhead) * 4, words[at + 2]!);
  }

  /**
   * Where the six numbers of a record lie: here, from `numbersAt` on, until the next record is
   * added.
   */
  numbers(place: number): Float64Array {
    return this.#blocks.at(place).numbers;
  }

  numbersAt(place: number): number {
    return (
      (place & (unitsPerBlock - 1)) + unitsAhead(this.#blocks.at(place).words[wordOf(place) + 2]!)
    );
  }

  hasMark(place: number, mark: number): boolean {
    return (this.#blocks.at(place).words[wordOf(place) + 2]! & mark) !== 0;
  }

  setMark(place: number, mark: number): void {
    this.#blocks.at(place).words[wordOf(place) + 2]! |= mark;
  }

  clearMark(place: number, mark: number): void {
    this.#blocks.at(place).words[wordOf(place) + 2]! &= ~mark;
  }

  walk(): Walk {
    return this.#blocks.walk();
  }

  /** Puts a record first in the bucket of its hash. */
  #putFirst(hash: number, place: number): void {
    const bucket = this.#buckets.of(hash);
    this.#blocks.at(place).words[wordOf(place)] = this.#buckets.first(bucket);
    this.#buckets.setFirst(bucket, place);
  }

  #unlink(place: number): void {
    const { words } = this.#blocks.at(place);
    const next = words[wordOf(place)]!;
    const bucket = this.#buckets.of(words[wordOf(place) + 1]!);
    let before = this.#buckets.first(bucket);
    if (before === place) return this.#buckets.setFirst(bucket, next);
    for (;;) {
      const block = this.#blocks.at(before);
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
      const { words } = this.#blocks.at(place);
      const next = words[wordOf(place)]!;
      this.#putFirst(words[wordOf(place) + 1]!, place);
      place = next;
    }
  }
}
