/**
 * State shared by the children of all templates of a rule book: their number, the counters to check
 * in, and the templates with dirty children.
 */
import { type HashKey, NameReader } from "./child-name.js";
import type { ChildCounters, Counter } from "./counter.js";

export class CounterPool {
  /** The number of children, including retired ones that aren't processed yet. */
  size = 0;
  readonly names: NameReader;
  /** Counters that were checked out, or whose last request ended, since the last reclaim. */
  readonly released: Counter[] = [];
  /** The templates with dirty children, each once. */
  dirty: ChildCounters[] = [];

  /** Maximum number of children of one template. */
  readonly childrenMax: number;

  constructor(hashKey: HashKey, childrenMax: number) {
    this.childrenMax = childrenMax;
    this.names = new NameReader(hashKey);
  }

  /** Checks in every counter without a request in flight; don't use such a counter afterwards. */
  reclaim(): void {
    const { released } = this;
    for (let i = 0; i < released.length; i++) released[i]!.rule.children.checkIn(released[i]!);
    released.length = 0;
  }
}
