/**
 * A map from ascending ids to values, for entries that are added and removed with every request. V8
 * links each old table of a Map to its successor: once an old table is in the old generation, all
 * later tables and their values outlive their use, which cost a twentieth of the proxy's CPU in
 * garbage collection. This map consists of two plain arrays with open addressing, in which
 * consecutive ids never collide.
 */
import { assert } from "./assert.js";

const lengthMin = 64;

export class IdMap<T> {
  /** Ids by index, 0 where it is free. As long as `#values`; the length is a power of two. */
  #ids: number[] = new Array<number>(lengthMin).fill(0);
  #values: (T | undefined)[] = new Array<T | undefined>(lengthMin).fill(undefined);
  #size = 0;
  /** Entries that are not at their home index, because it was taken. */
  #displaced = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    return this.#values[this.#indexOf(id)];
  }

  /** `id` is an integer from 1. */
  set(id: number, value: T): void {
    assert(Number.isSafeInteger(id) && id > 0, "an id is a positive integer");
    let index = this.#indexOf(id);
    if (this.#ids[index] === 0) {
      if (++this.#size * 2 > this.#ids.length) {
        this.#resize(this.#ids.length * 2);
        index = this.#indexOf(id);
      }
      this.#ids[index] = id;
      if (index !== (id & (this.#ids.length - 1))) this.#displaced++;
    }
    this.#values[index] = value;
  }

  /** Removes a value and returns it; undefined if the id is absent. */
  take(id: number): T | undefined {
    let free = this.#indexOf(id);
    const value = this.#values[free];
    if (this.#ids[free] === 0) return undefined;
    this.#size--;
    const mask = this.#ids.length - 1;
    if (free !== (id & mask)) this.#displaced--;
    // Displaced entries after the freed index move back, so that a search can stop at the first
    // free index. Thousands of consecutive ids form one long run, mostly without displaced entries.
    for (
      let next = (free + 1) & mask;
      this.#displaced > 0 && this.#ids[next] !== 0;
      next = (next + 1) & mask
    ) {
      const home = this.#ids[next]! & mask;
      if (((next - home) & mask) < ((next - free) & mask)) continue;
      if (free === home) this.#displaced--;
      this.#ids[free] = this.#ids[next]!;
      this.#values[free] = this.#values[next];
      free = next;
    }
    this.#ids[free] = 0;
    this.#values[free] = undefined;
    return value;
  }

  clear(): void {
    this.#ids = new Array<number>(lengthMin).fill(0);
    this.#values = new Array<T | undefined>(lengthMin).fill(undefined);
    this.#size = 0;
    this.#displaced = 0;
  }

  /** All values, in no order. The map must not change during the iteration. */
  *values(): Generator<T> {
    for (let index = 0; index < this.#ids.length; index++)
      if (this.#ids[index] !== 0) yield this.#values[index] as T;
  }

  /** All entries, by ascending id. */
  entries(): (readonly [id: number, value: T])[] {
    const all: (readonly [number, T])[] = [];
    for (let index = 0; index < this.#ids.length; index++)
      if (this.#ids[index] !== 0) all.push([this.#ids[index]!, this.#values[index] as T]);
    return all.sort((a, b) => a[0] - b[0]);
  }

  /** The index of the id, or the free one where it would go. */
  #indexOf(id: number): number {
    const mask = this.#ids.length - 1;
    let index = id & mask;
    while (this.#ids[index] !== 0 && this.#ids[index] !== id) index = (index + 1) & mask;
    return index;
  }

  #resize(length: number): void {
    const ids = this.#ids;
    const values = this.#values;
    this.#ids = new Array<number>(length).fill(0);
    this.#values = new Array<T | undefined>(length).fill(undefined);
    this.#displaced = 0;
    for (let i = 0; i < ids.length; i++) {
      if (ids[i] === 0) continue;
      const index = this.#indexOf(ids[i]!);
      this.#ids[index] = ids[i]!;
      if (index !== (ids[i]! & (length - 1))) this.#displaced++;
      this.#values[index] = values[i];
    }
  }
}
