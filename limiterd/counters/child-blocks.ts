/**
 * The memory blocks with the records of a table of children. A record is written after the last one
 * of the open block, and a block is freed once all of its records are removed. Not here: finding a
 * record by name (`child-table.ts`).
 */
import { nameWords } from "./child-name.js";
import {
  Block,
  blockShift,
  goneMark,
  recordUnits,
  unitsPerBlock,
  wordOf,
  wordsAhead,
} from "./child-record.js";

/** Most templates have few children, so the first block of a table begins small. */
const smallestBlock = 32;

/** A walk through a table. */
export interface Walk {
  /**
   * The place of the next record, −1 after the last one. Records that are added or moved meanwhile
   * may be included.
   */
  next(): number;
}

export class RecordBlocks {
  readonly #blocks: (Block | null)[] = [new Block(smallestBlock)];
  /** The block that takes new records. */
  #open = 0;
  /** Free indexes in `#blocks`. */
  readonly #free: number[] = [];

  /** The block of a place. */
  at(place: number): Block {
    return this.#blocks[place >> blockShift]!;
  }

  /**
   * Whether a block is mostly free, so that its records should be moved out; never the open block.
   */
  isSparse(place: number): boolean {
    return place >> blockShift !== this.#open && this.at(place).liveUnits * 2 <= unitsPerBlock;
  }

  /**
   * Writes a record after the last one and returns its place. Its name's words are those of `from`
   * at `nameAt`.
   */
  append(head: number, hash: number, from: Int32Array, nameAt: number): number {
    const units = recordUnits(head);
    const block = this.#blockFor(units);
    const place = (this.#open << blockShift) | block.usedUnits;
    const word = wordOf(place);
    block.words[word + 1] = hash;
    block.words[word + 2] = head;
    for (let i = 0, count = nameWords(head); i < count; i++)
      block.words[word + wordsAhead + i] = from[nameAt + i]!;
    block.usedUnits += units;
    block.liveUnits += units;
    return place;
  }

  /** Marks a record as removed. */
  remove(place: number): void {
    const block = this.at(place);
    block.liveUnits -= recordUnits(block.words[wordOf(place) + 2]!);
    block.words[wordOf(place) + 2]! |= goneMark;
    this.#giveBackEmpty(place >> blockShift);
  }

  walk(): Walk {
    const blocks = this.#blocks;
    let index = 0;
    let block = blocks[0]!;
    let unit = 0;
    return {
      next() {
        for (;;) {
          // A block that was freed meanwhile may have been replaced by a new one.
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

  /** The open block; if it has no room for the units, it is enlarged or another block is opened. */
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

  #giveBackEmpty(index: number): void {
    if (index === this.#open || this.#blocks[index]!.liveUnits > 0) return;
    this.#blocks[index] = null;
    this.#free.push(index);
  }
}
