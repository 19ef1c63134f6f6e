/** A queue of events by time; events of the same time are in the order in which they were added. */

interface Entry<T> {
  readonly atMs: number;
  readonly number: number;
  readonly item: T;
}

/** A binary heap. */
export class TimeQueue<T> {
  readonly #heap: Entry<T>[] = [];
  #added = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** The time of the first event; infinite if the queue is empty. */
  get firstMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  add(atMs: number, item: T): void {
    const heap = this.#heap;
    const entry = { atMs, number: this.#added++, item };
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  /** Removes and returns the first event; undefined if the queue is empty. */
  take(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return undefined;
    const { length } = heap;
    if (length === 0) return first.item;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first.item;
  }
}

function isBefore(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}
