/** The counters of one template's children that are checked out, each in a slot of its own. */
import type { Counter } from "./counter.js";

export class CheckedOutCounters {
  readonly #counters: (Counter | null)[] = [];
  readonly #freeSlots: number[] = [];

  /** The counter in a used slot. */
  at(slot: number): Counter {
    return this.#counters[slot]!;
  }

  /** Whether this very counter is checked out here. */
  has(counter: Counter): boolean {
    return counter.slot !== -1 && this.#counters[counter.slot] === counter;
  }

  add(counter: Counter): void {
    const slot = this.#freeSlots.pop() ?? this.#counters.length;
    this.#counters[slot] = counter;
    counter.slot = slot;
  }

  remove(counter: Counter): void {
    this.#counters[counter.slot] = null;
    this.#freeSlots.push(counter.slot);
    counter.slot = -1;
  }
}
