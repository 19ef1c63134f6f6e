/**
 * The children of all templates: finds and creates them, drops them at a reset or a deletion, and
 * removes idle ones. Dropping takes the same time for any number of children: dropped children are
 * processed later, in slices. A dropped child with requests in flight is moved back. Not here: how
 * children are stored in memory (`counters/children.ts`).
 */
import type { Walk } from "../counters/child-blocks.js";
import { Children, type CounterPool } from "../counters/children.js";
import { type ChildCounters, Counter, type Rule } from "../counters/counter.js";
import { clearWindow, newWindow } from "../counters/window.js";

/** A removed child, whose entry in the store must also be removed. */
export interface ForgottenChild {
  readonly rule: Rule;
  readonly child: string;
}

interface TemplatesPorts {
  /** The current rule with this id. */
  current(id: string): Rule | undefined;
  /** Applies the last reset of all rules to this one. */
  fresh(rule: Rule): Rule;
  /** Loads a child from the store; false: the store has none. */
  read(rule: Rule, child: string): boolean;
}

/** Children of a template that are being processed, and the position among them. */
interface Sweep {
  readonly rule: Rule;
  readonly children: ChildCounters;
  readonly walk: Walk;
}

export class Templates {
  readonly #ports: TemplatesPorts;
  readonly #counterPool: CounterPool;
  readonly #rules = new Set<Rule>();
  /** Dropped children that aren't all processed yet. */
  readonly #dropped: Sweep[] = [];
  /** The templates that the sweep for idle children hasn't visited yet; null if it starts again. */
  #toSweep: Iterator<Rule> | null = null;
  #sweep: Sweep | null = null;

  constructor(counterPool: CounterPool, ports: TemplatesPorts) {
    this.#counterPool = counterPool;
    this.#ports = ports;
  }

  add(rule: Rule): void {
    this.#rules.add(rule);
  }

  /** Call when the rule is deleted or no longer a template. */
  remove(rule: Rule): void {
    this.#rules.delete(rule);
    this.drop(rule);
  }

  /** Drops all children of a rule. */
  drop(rule: Rule): void {
    const { children } = rule;
    if (children.size === 0) return;
    rule.children = new Children(rule, this.#counterPool);
    rule.retired = [...rule.retired, children];
    this.#dropped.push({ rule, children, walk: children.walk() });
  }

  /**
   * The counter of one child. A new counter is kept only once it counts something (`keepChild`), so
   * that a refused request leaves nothing behind.
   */
  childOf(rule: Rule, child: string, nowMs: number): Counter {
    const existing = rule.children.get(child);
    if (existing !== undefined) return existing;
    const retired = retiredWith(rule, child);
    if (retired !== undefined) return moveBack(rule, retired, retired.busy(child)!);
    if (this.#ports.read(rule, child)) return rule.children.get(child)!;
    return new Counter(rule, child, newWindow(rule.periodMs, nowMs));
  }

  /** A copy of what `childOf` would return; no child is created or moved. */
  copyOf(rule: Rule, child: string, nowMs: number): Counter {
    const copy = rule.children.copy(child);
    if (copy !== undefined) return copy;
    const inFlight = retiredWith(rule, child)?.busy(child)?.inFlight;
    if (inFlight === undefined && this.#ports.read(rule, child)) return rule.children.copy(child)!;
    const counter = new Counter(rule, child, newWindow(rule.periodMs, nowMs));
    counter.inFlight = inFlight ?? 0;
    return counter;
  }

  /**
   * Examines up to `examined` children, dropped ones first; the next call continues. Removes and
   * returns dropped children without requests in flight, and children that have been idle for two
   * periods.
   */
  forgetIdle(nowMs: number, examined: number): ForgottenChild[] {
    const forgotten: ForgottenChild[] = [];
    for (let i = 0; i < examined; i++) {
      const [dropped] = this.#dropped;
      const gone =
        dropped !== undefined ? this.#forgetDroppedChild(dropped) : this.#forgetNext(nowMs);
      if (gone === undefined) break;
      if (gone !== null) forgotten.push(gone);
    }
    return forgotten;
  }

  /** Processes the next dropped child; null if its entry in the store stays. */
  #forgetDroppedChild({ rule, children, walk }: Sweep): ForgottenChild | null {
    const place = walk.next();
    if (place === -1) {
      this.#dropped.shift();
      rule.retired = rule.retired.filter((retired) => retired !== children);
      return null;
    }
    const current = this.#ports.current(rule.id);
    const busy = children.busyAt(place);
    if (busy !== null && current === rule) {
      moveBack(rule, children, busy);
      return null;
    }
    const child = children.name(place);
    children.delete(place);
    // If there is a new child with this name, the store's entry belongs to the new child: it is
    // overwritten or removed with it.
    return current?.children.has(child) ? null : { rule, child };
  }

  /**
   * Examines the next child, and returns it if it was idle and is removed, else null. A step to the
   * next template also counts as one, and returns null, so that many templates without children are
   * visited in slices. Undefined after the last child.
   */
  #forgetNext(nowMs: number): ForgottenChild | null | undefined {
    const sweep = this.#sweep;
    const place = sweep === null || sweep.rule.children !== sweep.children ? -1 : sweep.walk.next();
    if (sweep === null || place === -1) return this.#nextTemplate() ? null : undefined;
    const { rule, children } = sweep;
    const sinceMs = children.idleSinceMs(place, nowMs);
    if (sinceMs === null || nowMs < sinceMs + 2 * rule.periodMs) {
      children.tidy(place);
      return null;
    }
    const child = children.name(place);
    children.delete(place);
    return { rule, child };
  }

  /** Begins to sweep the next template; false after the last one. */
  #nextTemplate(): boolean {
    this.#toSweep ??= this.#rules.values();
    const { value: rule, done } = this.#toSweep.next();
    if (done === true) {
      this.#sweep = null;
      this.#toSweep = null;
      return false;
    }
    const { children } = this.#ports.fresh(rule);
    this.#sweep = { rule, children, walk: children.walk() };
    return true;
  }
}

/** The retired children among which this child still has requests in flight. */
function retiredWith(rule: Rule, child: string): ChildCounters | undefined {
  return rule.retired.find((retired) => retired.busy(child) !== null);
}

/** Moves a retired child back, with a cleared window. Its entry in the store is stale. */
function moveBack(rule: Rule, from: ChildCounters, counter: Counter): Counter {
  from.delete(counter.place);
  clearWindow(counter.window);
  counter.isDirty = false;
  rule.children.add(counter);
  return counter;
}
