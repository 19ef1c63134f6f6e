/**
 * The windows that have changed since the last snapshot: those of rules as counters, those of
 * children as places among the children of their template.
 */

import type { CounterPool } from "./children.js";
import type { ChildCounters, Counter, Rule } from "./counter.js";
import type { Window } from "./window.js";

/** A window to be written. */
export interface DirtyWindow {
  readonly ruleId: string;
  /** Empty for a rule's own. */
  readonly child: string;
  readonly window: Readonly<Window>;
}

interface DirtyChildren {
  readonly children: ChildCounters;
  readonly places: readonly number[];
}

export class DirtyWindows {
  readonly #counterPool: CounterPool;
  readonly #isCurrent: (rule: Rule) => boolean;
  /** Rules' own counters that are dirty. */
  #counters: Counter[] = [];

  /**
   * `isCurrent`: whether the rule is still in the book; applies the last reset of all rules to it.
   */
  constructor(counterPool: CounterPool, isCurrent: (rule: Rule) => boolean) {
    this.#counterPool = counterPool;
    this.#isCurrent = isCurrent;
  }

  mark(counter: Counter): void {
    if (counter.isDirty) return;
    if (counter.rule.own === null) return counter.rule.children.markDirty(counter);
    counter.isDirty = true;
    this.#counters.push(counter);
  }

  /**
   * The windows marked since the last call, each once; null if there are none. A window is read
   * when the generator yields it. Windows that don't count any more by then are left out.
   */
  take(): Generator<DirtyWindow> | null {
    const { dirtyTemplates } = this.#counterPool;
    if (this.#counters.length === 0 && dirtyTemplates.length === 0) return null;
    const windows = this.#read(
      this.#counters,
      dirtyTemplates.map((children) => ({ children, places: children.takeDirty() })),
    );
    this.#counters = [];
    this.#counterPool.dirtyTemplates = [];
    return windows;
  }

  *#read(
    ofRules: readonly Counter[],
    ofTemplates: readonly DirtyChildren[],
  ): Generator<DirtyWindow> {
    for (const counter of ofRules) {
      counter.isDirty = false;
      if (this.#isCurrent(counter.rule))
        yield { ruleId: counter.rule.id, child: "", window: counter.window };
    }
    for (const { children, places } of ofTemplates) {
      const { rule } = children;
      for (const place of places) {
        // The children were deleted or reset meanwhile: writing them would make stale entries of
        // the store valid again.
        if (!this.#isCurrent(rule) || rule.children !== children) break;
        const { child, window } = children.readDirty(place);
        yield { ruleId: rule.id, child, window };
      }
    }
  }
}
