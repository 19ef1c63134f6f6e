/**
 * The children of all templates: found, made, dropped by a reset or a deletion, and forgotten when
 * they are idle. Dropping is done at once however many they are; what is left of them is gone
 * through later, some at a time, and those whose requests still run come back. How they are kept is
 * in `children.ts`.
 */
import type { Walk } from "../counters/child-table.js";
import { Children, type CounterPool } from "../counters/children.js";
import { Counter, type Rule } from "../counters/counter.js";
import { clearWindow, newWindow } from "../counters/window.js";

/** A child that is counted no more: what the store holds of it must go. */
export interface Forgotten {
  readonly rule: Rule;
  readonly child: string;
}

export interface Templates {
  add(rule: Rule): void;
  /** The rule is deleted, or no template any more. */
  remove(rule: Rule): void;
  /** Takes all children away from a rule. */
  drop(rule: Rule): void;
  /** The counter of one child; it is made when it isn't there. */
  childOf(rule: Rule, child: string, nowMs: number): Counter;
  /** A copy of what `childOf` would return; nothing is made or moved. */
  copyOf(rule: Rule, child: string, nowMs: number): Counter;
  forgetIdle(nowMs: number, examined: number): Forgotten[];
}

export interface TemplatesPorts {
  /** The rule that has this identity now. */
  current(id: string): Rule | undefined;
  /** Applies the last reset of all rules to this one. */
  fresh(rule: Rule): Rule;
  readonly counterPool: CounterPool;
}

/** Children that are gone through, and how far. */
interface Walked {
  readonly rule: Rule;
  readonly children: Children;
  readonly walk: Walk;
}

export function createTemplates({ current, fresh, counterPool }: TemplatesPorts): Templates {
  const templates = new Set<Rule>();
  const dropped: Walked[] = [];
  let toSweep: Iterator<Rule> | null = null;
  let swept: Walked | null = null;

  function drop(rule: Rule): void {
    const { children } = rule;
    if (children.size === 0) return;
    rule.children = new Children(rule, counterPool);
    rule.former = [...rule.former, children];
    dropped.push({ rule, children, walk: children.walk() });
  }

  /** Where a child is that was dropped while its requests ran, and they still do. */
  function formerOf(rule: Rule, child: string): Children | undefined {
    return rule.former.find((former) => former.busy(child) !== null);
  }

  /** Such a child is one again, with a cleared window. What the store holds of it is void. */
  function takeBack(rule: Rule, from: Children, counter: Counter): Counter {
    from.delete(counter.place);
    clearWindow(counter.window);
    counter.dirty = false;
    rule.children.add(counter);
    return counter;
  }

  /** Goes on among dropped children; null when the next one leaves nothing to be removed. */
  function forgetDropped({ rule, children, walk }: Walked): Forgotten | null {
    const place = walk.next();
    if (place === -1) {
      dropped.shift();
      rule.former = rule.former.filter((other) => other !== children);
      return null;
    }
    const now = current(rule.id);
    const busy = children.busyAt(place);
    if (busy !== null && now === rule) {
      takeBack(rule, children, busy);
      return null;
    }
    const child = children.name(place);
    children.delete(place);
    // When the child is there again, the store's entry is its own: written over or removed in its
    // time.
    return now !== undefined && now.children.has(child) ? null : { rule, child };
  }

  /**
   * Looks at the next child of those that are there: forgotten, or null. A step from one template
   * to the next is null too, so that many without a child are looked at in slices. Undefined: that
   * was all.
   */
  function forgetIdle(nowMs: number): Forgotten | null | undefined {
    const place = swept === null || swept.rule.children !== swept.children ? -1 : swept.walk.next();
    if (place === -1) {
      toSweep ??= templates.values();
      const { value: rule, done } = toSweep.next();
      swept =
        done === true ? null : { rule, children: fresh(rule).children, walk: rule.children.walk() };
      if (done !== true) return null;
      toSweep = null;
      return undefined;
    }
    const { rule, children } = swept!;
    const sinceMs = children.idleSinceMs(place);
    if (sinceMs === null || nowMs < sinceMs + 2 * rule.periodMs) {
      children.tidy(place);
      return null;
    }
    const child = children.name(place);
    children.delete(place);
    return { rule, child };
  }

  return {
    add: (rule) => void templates.add(rule),
    remove(rule) {
      templates.delete(rule);
      drop(rule);
    },
    drop,
    childOf(rule, child, nowMs) {
      const known = rule.children.get(child);
      if (known !== undefined) return known;
      const former = formerOf(rule, child);
      if (former !== undefined) return takeBack(rule, former, former.busy(child)!);
      const counter = new Counter(rule, child, newWindow(rule.periodMs, nowMs));
      rule.children.add(counter);
      return counter;
    },
    copyOf(rule, child, nowMs) {
      const known = rule.children.copy(child);
      if (known !== undefined) return known;
      const counter = new Counter(rule, child, newWindow(rule.periodMs, nowMs));
      counter.inFlight = formerOf(rule, child)?.busy(child)?.inFlight ?? 0;
      return counter;
    },
    forgetIdle(nowMs, examined) {
      const forgotten: Forgotten[] = [];
      for (let i = 0; i < examined; i++) {
        const gone = dropped.length > 0 ? forgetDropped(dropped[0]!) : forgetIdle(nowMs);
        if (gone === undefined) break;
        if (gone !== null) forgotten.push(gone);
      }
      return forgotten;
    },
  };
}
