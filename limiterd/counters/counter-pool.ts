/**
 * What the children of all templates of a rule book share: how many they are, which of their
 * counters may be checked in, and which of them are to be written.
 */
import { type HashKey, NameReader } from "./child-name.js";
import type { ChildCounters, Counter } from "./counter.js";

export class CounterPool {
  /** How many children there are, retired ones that are still here included. */
  size = 0;
  readonly names: NameReader;
  /** Counters that were checked out, or whose last request has ended, since the last reclaim. */
  readonly released: Counter[] = [];
  /** Those of which some are dirty, each once. */
  dirty: ChildCounters[] = [];

  /** Of one template. */
  readonly childrenMax: number;

  constructor(hashKey: HashKey, childrenMax: number) {
    this.childrenMax = childrenMax;
    this.names = new NameReader(hashKey);
  }

  /**
   * Checks in every counter that nothing holds. A counter without a request in flight must not be
   * used any more afterwards.
   */
  reclaim(): void {
    const { released } = this;
    for (let i = 0; i < released.length; i++) released[i]!.rule.children.checkIn(released[i]!);
    released.length = 0;
  }
}
