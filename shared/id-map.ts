/**
 * A map from ascending ids to values, for entries that are added and removed with every request. V8
 * links each old table of a Map to the new one: once an old table is in the old generation, all
 * later tables and their values outlive their use. That cost a twentieth of the proxy's CPU in
 * garbage collection. This map uses two plain arrays with open addressing, in which consecutive ids
 * never collide.
 */
import { assert } from "./assert.js";

const slotsMin = 64;

export class IdMap<T> {
  /** Ids by slot, 0 for a free one. As long as `#values`; the length is a power of two. */
  #ids: number[] = new Array<number>(slotsMin).fill(0);
  #values: (T | undefined)[] = new Array<T | undefined>(slotsMin).fill(undefined);
  #size = 0;
  /** Entries outside their home slot, which was taken. */
  #displaced = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    return this.#values[this.#slotOf(id)];
  }

  /** `id` is an integer from 1. */
  set(id: number, value: T): void {
    assert(Number.isSafeInteger(id) && id > 0, "an id is a positive integer");
    let slot = this.#slotOf(id);
    if (this.#ids[slot] === 0) {
      if (++this.#size * 2 > this.#ids.length) {
        this.#resize(this.#ids.length * 2);
        slot = this.#slotOf(id);
      }
      this.#ids[slot] = id;
      if (slot !== (id & (this.#ids.length - 1))) this.#displaced++;
    }
    this.#values[slot] = value;
  }

  /** Removes a value and returns it; undefined if the id is absent. */
  take(id: number): T | undefined {
    let free = this.#slotOf(id);
    const taken = this.#values[free];
    if (this.#ids[free] === 0) return undefined;
    this.#size--;
    const mask = this.#ids.length - 1;
    if (free !== (id & mask)) this.#displaced--;
    // Displaced entries behind the freed slot move back, so that a search can stop at the first
    // free slot. Thousands of consecutive ids form one long run, mostly without displaced entries.
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
    return taken;
  }

  clear(): void {
    this.#ids = new Array<number>(slotsMin).fill(0);
    this.#values = new Array<T | undefined>(slotsMin).fill(undefined);
    this.#size = 0;
    this.#displaced = 0;
  }

  /** All values, in no order. The map must not change during the iteration. */
  *values(): Generator<T> {
    for (let slot = 0; slot < this.#ids.length; slot++)
      if (this.#ids[slot] !== 0) yield this.#values[slot] as T;
  }

  /** All entries, by ascending id. */
  entries(): (readonly [id: number, value: T])[] {
    const all: (readonly [number, T])[] = [];
    for (let slot = 0; slot < this.#ids.length; slot++)
      if (this.#ids[slot] !== 0) all.push([this.#ids[slot]!, this.#values[slot] as T]);
    return all.sort((a, b) => a[0] - b[0]);
  }

  /** The slot of the id, or the free slot where it would go. */
  #slotOf(id: number): number {
    const mask = this.#ids.length - 1;
    let slot = id & mask;
    while (this.#ids[slot] !== 0 && this.#ids[slot] !== id) slot = (slot + 1) & mask;
    return slot;
  }

  #resize(slots: number): void {
    const ids = this.#ids;
    const values = this.#values;
    this.#ids = new Array<number>(slots).fill(0);
    this.#values = new Array<T | undefined>(slots).fill(undefined);
    this.#displaced = 0;
    for (let i = 0; i < ids.length; i++) {
      if (ids[i] === 0) continue;
      const slot = this.#slotOf(ids[i]!);
      this.#ids[slot] = ids[i]!;
      if (slot !== (ids[i]! & (slots - 1))) this.#displaced++;
      this.#values[slot] = values[i];
    }
  }
}
