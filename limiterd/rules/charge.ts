/**
 * What happens to counters outside an admission: a request is held again, charged for its tokens,
 * or counted after the fact; its gauges are given back. Whether it may be is not asked here.
 */
import type { Target } from "../../shared/wire/message.js";
import { addToWindow, rollWindow } from "../counters/window.js";
import { type Counter, inOrder, type RuleBook } from "./rule-book.js";

/**
 * All counters that a request to this target meets now; the user path's alone while it has none.
 */
export function matchAll(
  book: RuleBook,
  userPath: string,
  target: Target | null,
  nowMs: number,
): readonly Counter[] {
  return inOrder(matchTarget(book, target, nowMs), book.matchPath(userPath, nowMs));
}

/** The target's alone; none while there is no target. */
export function matchTarget(
  book: RuleBook,
  target: Target | null,
  nowMs: number,
): readonly Counter[] {
  return target === null ? [] : book.matchTarget(target, nowMs);
}

export function isSameTarget(a: Target | null, b: Target | null): boolean {
  return a === b || (a !== null && b !== null && a.provider === b.provider && a.model === b.model);
}

export function hold(counters: readonly Counter[]): void {
  for (const counter of counters) counter.inFlight++;
}

export function release(counters: readonly Counter[]): void {
  for (const counter of counters) {
    counter.inFlight--;
    if (counter.inFlight === 0 && counter.place !== -1) counter.rule.children.loosen(counter);
  }
}

export interface Charge {
  readonly atMs: number;
  /** −1 takes back what was counted. */
  readonly requests: number;
  readonly tokens: number;
}

/** Adds a charge to the window in which its moment lies, for each counter that `counts` accepts. */
export function charge(
  book: RuleBook,
  counters: readonly Counter[],
  what: Charge,
  nowMs: number,
  counts: (counter: Counter) => boolean = always,
): void {
  if (what.requests === 0 && what.tokens === 0) return;
  for (const counter of counters) {
    const { periodMs } = counter.rule;
    if (periodMs === 0 || !counts(counter)) continue;
    rollWindow(counter.window, periodMs, nowMs);
    // A moment that lies ahead of the window's clock (it stepped back) belongs to the current half.
    addToWindow(
      counter.window,
      periodMs,
      what.atMs >= nowMs ? Math.max(what.atMs, counter.window.startMs) : what.atMs,
      what.requests,
      what.tokens,
    );
    book.markDirty(counter);
  }
}

function always(): boolean {
  return true;
}
