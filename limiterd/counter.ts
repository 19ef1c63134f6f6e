/** How counters are made and copied. Whose they are, and which of them a request meets, is in `rule-book.ts`. */
import type { Counter, Rule } from "./rule-book.js";
import { newWindow } from "./window.js";

export function newCounter(rule: Rule, subject: string, child: string, nowMs: number): Counter {
  return { rule, subject, child, window: newWindow(rule.periodMs, nowMs), inFlight: 0, dirty: false, restoredLsn: 0 };
}

/** The counter of a direct child of a template; it isn't added to the template here. */
export function newChild(rule: Rule, child: string, nowMs: number): Counter {
  const parent = rule.definition.subject;
  return newCounter(rule, parent === "/" ? `/${child}` : `${parent}/${child}`, child, nowMs);
}

/** A counter to look at: its window may be brought to now without a trace in the book. The rule stays shared. */
export function copyCounter(counter: Counter): Counter {
  return { ...counter, window: { ...counter.window } };
}
