/**
 * What is done with a list of any length. A list that is spread into a call goes onto the stack,
 * item by item, and at some 120,000 items the stack is full; `test/tidy.test.ts` refuses it.
 */

/** Adds the items at the end. */
export function append<Item>(to: Item[], items: Iterable<Item>): void {
  for (const item of items) to.push(item);
}

/** The greatest of the values and `atLeast`. */
export function greatest(values: Iterable<number>, atLeast = Number.NEGATIVE_INFINITY): number {
  let found = atLeast;
  for (const value of values) found = Math.max(found, value);
  return found;
}

/** A rule or a budget: sorted by the key in its definition, which stays the same. */
interface Defined<K> {
  readonly definition: K;
}

/** Where those after this key begin. */
export function firstAfter<K>(
  sorted: readonly Defined<K>[],
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

/** In the order of lists: 100,000 are sorted once; after that each is inserted where it belongs. */
export class SortedList<K, T extends Defined<K>> {
  readonly #compare: (a: K, b: K) => number;
  #sorted: T[] | null = null;

  constructor(compare: (a: K, b: K) => number) {
    this.#compare = compare;
  }

  /** All of them. The first call sorts; what is added later is inserted. */
  all(items: Iterable<T>): readonly T[] {
    this.#sorted ??= [...items].sort((a, b) => this.#compare(a.definition, b.definition));
    return this.#sorted;
  }

  add(item: T): void {
    this.#sorted?.splice(firstAfter(this.#sorted, item.definition, this.#compare), 0, item);
  }

  remove(item: T): void {
    this.#sorted?.splice(firstAfter(this.#sorted, item.definition, this.#compare) - 1, 1);
  }
}

/** Its first items; no more of it is read than they. */
export function* firstOf<T>(items: Iterable<T>, limit: number): Iterable<T> {
  let left = limit;
  if (left > 0)
    for (const item of items) {
      yield item;
      if (--left === 0) return;
    }
}

/**
 * How much one turn of the event loop does: a loop over much counts its work and yields whenever a
 * turn is over, so that others have theirs.
 */
export class Turns {
  readonly #workMax: number;
  #work = 0;

  /** @param workMax in whatever the loop counts by: records, sums, entries of the store */
  constructor(workMax: number) {
    this.#workMax = workMax;
  }

  /** Counts work that was done. True: the turn is over, and the next one begins. */
  isOver(work = 1): boolean {
    this.#work += work;
    if (this.#work < this.#workMax) return false;
    this.#work = 0;
    return true;
  }
}
