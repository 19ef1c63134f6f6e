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

/** Above so many new ones a list is sorted again: as it nearly is, that is one pass. */
const insertedMax = 16;
/** Changes that wait for the list to be asked for. */
const changesMax = 10_000;

/**
 * In the order of lists: 100,000 are sorted once. What comes and goes then is noted, and has its
 * place when the list is next asked for: each insertion would move all behind it, and a
 * file of limits may change ten thousand.
 */
export class SortedList<K, T extends Defined<K>> {
  readonly #compare: (a: K, b: K) => number;
  #sorted: T[] | null = null;
  readonly #added = new Set<T>();
  readonly #removed = new Set<T>();

  constructor(compare: (a: K, b: K) => number) {
    this.#compare = compare;
  }

  /** All of them. The first call sorts `items`; later ones know what was added and removed. */
  all(items: Iterable<T>): readonly T[] {
    this.#sorted = this.#sorted === null ? this.#inOrder([...items]) : this.#upToDate(this.#sorted);
    return this.#sorted;
  }

  add(item: T): void {
    if (!this.#removed.delete(item)) this.#change(this.#added, item);
  }

  /** One that is in the list. */
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
    const kept =
      this.#removed.size === 0 ? sorted : sorted.filter((item) => !this.#removed.has(item));
    this.#removed.clear();
    const added = [...this.#added];
    this.#added.clear();
    if (added.length > insertedMax) return this.#inOrder([...kept, ...added]);
    for (const item of added)
      kept.splice(firstAfter(kept, item.definition, this.#compare), 0, item);
    return kept;
  }

  #inOrder(items: T[]): T[] {
    return items.sort((a, b) => this.#compare(a.definition, b.definition));
  }
}

/** Work of any length that yields whenever a turn of the event loop is over. */
export type SlicedWork<T> = Generator<void, T>;

/** Others have their turns between those of the work. */
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

/** All of it in this turn. */
export function runAtOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
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
