/**
 * Helpers for lists of any length. Spreading a list into a call puts every item on the stack, which
 * overflows at about 120,000 items; `test/tidy.test.ts` refuses that.
 */

/** Adds the items at the end. */
export function append<Item>(to: Item[], items: Iterable<Item>): void {
  for (const item of items) to.push(item);
}

/** The greatest of the values and `atLeast`. */
export function greatest(values: Iterable<number>, atLeast = Number.NEGATIVE_INFINITY): number {
  let greatestValue = atLeast;
  for (const value of values) greatestValue = Math.max(greatestValue, value);
  return greatestValue;
}

/** A rule or a budget: sorted by the key in its definition, which stays the same. */
interface HasDefinition<K> {
  readonly definition: K;
}

/** The index of the first item after this key. */
export function firstAfter<K>(
  sorted: readonly HasDefinition<K>[],
  key: K,
  compare: (a: K, b: K) => number,
): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(sorted[middle]!.definition, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Above this number of new items the list is sorted again: it is nearly sorted, so that takes one
 * pass.
 */
const insertedMax = 16;
/** Pending changes; more are applied before the list is next read. */
const changesMax = 10_000;

/**
 * A list that is sorted once and then kept in order. Additions and removals are only noted, and are
 * applied when the list is next read: each insertion moves all items after it, and a file of
 * limits may change ten thousand.
 */
export class SortedList<K, T extends HasDefinition<K>> {
  readonly #compare: (a: K, b: K) => number;
  #sorted: T[] | null = null;
  readonly #added = new Set<T>();
  readonly #removed = new Set<T>();

  constructor(compare: (a: K, b: K) => number) {
    this.#compare = compare;
  }

  /**
   * All items in order. The first call sorts `items`; later calls apply the noted changes instead.
   */
  all(items: Iterable<T>): readonly T[] {
    this.#sorted = this.#sorted === null ? this.#inOrder([...items]) : this.#upToDate(this.#sorted);
    return this.#sorted;
  }

  add(item: T): void {
    if (!this.#removed.delete(item)) this.#change(this.#added, item);
  }

  /** Removes an item that is in the list. */
  remove(item: T): void {
    if (!this.#added.delete(item)) this.#change(this.#removed, item);
  }

  #change(changed: Set<T>, item: T): void {
    if (this.#sorted === null) return;
    changed.add(item);
    if (this.#added.size + this.#removed.size > changesMax)
      this.#sorted = this.#upToDate(this.#sorted);
  }

  #upToDate(sorted: T[]): T[] {
    const remaining =
      this.#removed.size === 0 ? sorted : sorted.filter((item) => !this.#removed.has(item));
    this.#removed.clear();
    const added = [...this.#added];
    this.#added.clear();
    if (added.length > insertedMax) return this.#inOrder([...remaining, ...added]);
    for (const item of added)
      remaining.splice(firstAfter(remaining, item.definition, this.#compare), 0, item);
    return remaining;
  }

  #inOrder(items: T[]): T[] {
    return items.sort((a, b) => this.#compare(a.definition, b.definition));
  }
}

/** Work of any length that yields at the end of each turn of the event loop. */
export type SlicedWork<T> = Generator<void, T>;

/** Runs the work in slices, between which the event loop does other work. */
export async function runInSlices<T>(
  work: SlicedWork<T>,
  yieldToEventLoop: () => Promise<void>,
): Promise<T> {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
    await yieldToEventLoop();
  }
}

/** Runs all of the work in this turn of the event loop. */
export function runAtOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}

/**
 * Bounds the work in one turn of the event loop: a loop counts its work and yields at the end of a
 * turn, so that other work can run.
 */
export class Turns {
  readonly #workMax: number;
  #work = 0;

  /** @param workMax in the unit that the loop counts: records, sums, entries of the store */
  constructor(workMax: number) {
    this.#workMax = workMax;
  }

  /** Counts work that was done. True if the turn is over; the next one begins with no work. */
  isOver(work = 1): boolean {
    this.#work += work;
    if (this.#work < this.#workMax) return false;
    this.#work = 0;
    return true;
  }
}
