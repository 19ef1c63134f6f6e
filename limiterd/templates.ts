/**
 * The children of all templates: found, made, dropped by a reset or a deletion, and forgotten when they
 * are idle. Dropping is done at once however many they are; what is left of them is gone through later,
 * some at a time, and those whose requests still run come back. How they are kept is in `children.ts`.
 */
import { Children } from "./children.js";
import { Counter, type Rule } from "./counter.js";
import { clearWindow, newWindow } from "./window.js";

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
  /** All children, the dropped ones that are still here included. */
  readonly childCount: number;
  forgetIdle(nowMs: number, examined: number): Forgotten[];
}

export interface TemplatesPorts {
  /** The rule that has this identity now. */
  current(id: string): Rule | undefined;
  /** Applies the last reset of all rules to this one. */
  fresh(rule: Rule): Rule;
}

interface Dropped {
  readonly rule: Rule;
  readonly children: Children;
  readonly names: Iterator<string>;
}

export function createTemplates({ current, fresh }: TemplatesPorts): Templates {
  const templates = new Set<Rule>();
  const dropped: Dropped[] = [];
  let sweep: Iterator<Forgotten | null> | null = null;

  function drop(rule: Rule): void {
    const { children } = rule;
    if (children.size === 0) return;
    rule.children = new Children(rule);
    rule.former = [...rule.former, children];
    dropped.push({ rule, children, names: children.keys() });
  }

  /** Where a child is that was dropped while its requests ran, and they still do. */
  function formerOf(rule: Rule, child: string): Children | undefined {
    return rule.former.find((former) => former.busy(child) !== null);
  }

  /** Such a child is one again, with a cleared window. */
  function takeBack(rule: Rule, from: Children, counter: Counter): Counter {
    from.delete(counter.child);
    clearWindow(counter.window);
    rule.children.add(counter);
    return counter;
  }

  /** Goes on among dropped children; null when the next one leaves nothing to be removed. */
  function forgetDropped({ rule, children, names }: Dropped): Forgotten | null {
    const next = names.next();
    if (next.done === true) {
      dropped.shift();
      rule.former = rule.former.filter((other) => other !== children);
      return null;
    }
    const child = next.value;
    const now = current(rule.id);
    const busy = children.busy(child);
    if (busy !== null && now === rule) {
      takeBack(rule, children, busy);
      return null;
    }
    children.delete(child);
    // When the child is there again, the store's entry is its own: written over or removed in its time.
    return now !== undefined && now.children.has(child) ? null : { rule, child };
  }

  function forgetIfIdle(next: Forgotten, nowMs: number): boolean {
    const { rule, child } = next;
    const sinceMs = rule.children.restingSinceMs(child);
    if (sinceMs === null || nowMs < sinceMs + 2 * rule.periodMs) return false;
    rule.children.delete(child);
    return true;
  }

  /** Children, and null for each template, so that many without a child are looked at in slices too. */
  function* children(): Generator<Forgotten | null> {
    for (const rule of templates) {
      yield null;
      for (const child of fresh(rule).children.keys()) yield { rule, child };
    }
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
      const counter = new Counter(rule, ownText(child), newWindow(rule.periodMs, nowMs));
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
    get childCount() {
      let count = 0;
      for (const rule of templates) count += rule.children.size;
      for (const { children: gone } of dropped) count += gone.size;
      return count;
    },
    forgetIdle(nowMs, examined) {
      const forgotten: Forgotten[] = [];
      for (let i = 0; i < examined; i++) {
        if (dropped.length > 0) {
          const gone = forgetDropped(dropped[0]!);
          if (gone !== null) forgotten.push(gone);
          continue;
        }
        sweep ??= children();
        const next = sweep.next();
        if (next.done === true) {
          sweep = null;
          break;
        }
        if (next.value !== null && forgetIfIdle(next.value, nowMs)) forgotten.push(next.value);
      }
      return forgotten;
    },
  };
}

/** The same text in memory of its own: cut out of a path, it would keep the whole path, and what that was cut out of. */
function ownText(text: string): string {
  const copy = Buffer.from(text).toString();
  // Half a surrogate pair has no UTF-8.
  return copy === text ? copy : text;
}
