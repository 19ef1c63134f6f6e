/** The future events, the earliest first: a binary heap. */

export interface QueuedEvent {
  readonly atMs: number;
  /** Of two at the same moment, the one with the lower number is first. */
  readonly order: number;
}

export class EventQueue<E extends QueuedEvent> {
  readonly #heap: E[] = [];

  /** The earliest event. */
  get first(): E | undefined {
    return this.#heap[0];
  }

  push(event: E): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isEarlier(heap[parent]!, event)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  /** Removes the earliest event. */
  pop(): E | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isEarlier(heap[child + 1]!, heap[child]!)) child++;
      if (isEarlier(last, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
    return first;
  }

  /** Removes all events, in no order. */
  takeAll(): E[] {
    return this.#heap.splice(0);
  }
}

function isEarlier(a: QueuedEvent, b: QueuedEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
