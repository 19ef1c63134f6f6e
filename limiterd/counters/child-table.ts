/**
 * A table of up to a million names, each with six numbers and two marks, in a few hundred blocks of
 * memory instead of objects, so that the garbage collector has nothing to visit or copy. No
 * operation touches all records: the table grows and shrinks by one bucket at a time (linear
 * hashing) and by blocks of one size. Not here: the layout of a record (`child-record.ts`) and the
 * meaning of its numbers (`child-numbers.ts`).
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
   * The place of a name, −1 if it isn't in the table. It is valid until the record is removed or
   * moved.
   */
  find(name: string): number {
    const query = this.#query;
    query.read(name);
    let place = this.#buckets.first(this.#buckets.of(query.hash));
    while (place !== -1) {
      const { words } = this.#blocks.at(place);
      const word = wordOf(place);
      if (words[word + 1] === query.hash && isNamed(words, word, query)) return place;
      place = words[word]!;
    }
    return -1;
  }

  /** Adds a new name without marks. The caller must set its numbers. */
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
    // Removes two buckets per record, because there may be twice as many buckets as records.
    for (
      let i = 0;
      i < 2 && this.#buckets.count > smallestBuckets && this.size < this.#buckets.count / 2;
      i++
    )
      this.#redistribute(this.#buckets.removeLast());
  }

  /**
   * Moves a record out of a block that is mostly free, so that the block can be freed. A marked
   * record stays, because a checked-out counter or a list of dirty records has its place.
   */
  tidy(place: number): void {
    const block = this.#blocks.at(place);
    const word = wordOf(place);
    const head = block.words[word + 2]!;
    if (!this.#blocks.isSparse(place) || (head & (dirtyMark | checkedOutMark)) !== 0) return;
    this.#unlink(place);
    const newPlace = this.#blocks.append(
      head,
      block.words[word + 1]!,
      block.words,
      word + wordsAhead,
    );
    this.#putFirst(block.words[word + 1]!, newPlace);
    const [from, to] = [this.numbersAt(place), this.numbersAt(newPlace)];
    const numbers = this.numbers(newPlace);
    for (let i = 0; i < numbersPerRecord; i++) numbers[to + i] = block.numbers[from + i]!;
    this.#blocks.remove(place);
  }

  name(place: number): string {
    const { words, bytes } = this.#blocks.at(place);
    const word = wordOf(place);
    return readName(bytes, (word + wordsAhead) * 4, words[word + 2]!);
  }

  /**
   * The array with the six numbers of a record, from `numbersAt` on; valid until the next record is
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

  /** Adds a bucket and moves some records of an existing bucket to it. */
  #split(): void {
    const parent = this.#buckets.add();
    const place = this.#buckets.first(parent);
    this.#buckets.setFirst(parent, -1);
    this.#redistribute(place);
  }

  /**
   * Puts the records of a former bucket into their buckets, beginning with the record at `place`.
   */
  #redistribute(place: number): void {
    while (place !== -1) {
      const { words } = this.#blocks.at(place);
      const next = words[wordOf(place)]!;
      this.#putFirst(words[wordOf(place) + 1]!, place);
      place = next;
    }
  }
}
