/**
 * Which windows have changed since the last snapshot: rules' own as counters, children's as places
 * among those of their template.
 */
import type { Children, CounterPool } from "./children.js";
import type { Counter, Rule } from "./counter.js";
import type { Window } from "./window.js";

/** A window to be written. */
export interface DirtyWindow {
  readonly ruleId: string;
  /** Empty for a rule's own. */
  readonly child: string;
  readonly window: Readonly<Window>;
}

export interface DirtyWindows {
  mark(counter: Counter): void;
  /**
   * Those marked since the last call, each once and as it is when it is asked for; what doesn't
   * count any more by then is left out. Null: none.
   */
  take(): Generator<DirtyWindow> | null;
}

interface OfTemplate {
  readonly children: Children;
  readonly places: readonly number[];
}

/** `isCurrent`: the rule counts, after the last reset of all is applied to it. */
export function createDirtyWindows(
  counterPool: CounterPool,
  isCurrent: (rule: Rule) => boolean,
): DirtyWindows {
  let counters: Counter[] = [];

  function* read(
    ofRules: readonly Counter[],
    ofTemplates: readonly OfTemplate[],
  ): Generator<DirtyWindow> {
    for (const counter of ofRules) {
      counter.dirty = false;
      if (isCurrent(counter.rule))
        yield { ruleId: counter.rule.id, child: "", window: counter.window };
    }
    for (const { children, places } of ofTemplates) {
      const { rule } = children;
      for (const place of places) {
        // Deleted or reset meanwhile: their entries are void and must stay so.
        if (!isCurrent(rule) || rule.children !== children) break;
        const { child, window } = children.readDirty(place);
        yield { ruleId: rule.id, child, window };
      }
    }
  }

  return {
    mark(counter) {
      if (counter.dirty) return;
      if (counter.rule.own === null) return counter.rule.children.markDirty(counter);
      counter.dirty = true;
      counters.push(counter);
    },
    take() {
      if (counters.length === 0 && counterPool.dirty.length === 0) return null;
      const taken = read(
        counters,
        counterPool.dirty.map((children) => ({ children, places: children.takeDirty() })),
      );
      counters = [];
      counterPool.dirty = [];
      return taken;
    },
  };
}
