/**
 * What happens to counters outside an admission: a request holds its slots again, is charged for
 * its tokens, or is counted after the fact; its slots are released. Nothing is judged here.
 */
import { type Counter, keepChild } from "../counters/counter.js";
import { rollWindow } from "../counters/window.js";
import type { RuleBook } from "./rule-book.js";

/** Takes a slot on each of the counters. */
export function hold(counters: readonly Counter[]): void {
  for (const counter of counters) {
    keepChild(counter);
    counter.inFlight++;
  }
}

/** Frees a slot on each of the counters. */
export function release(counters: readonly Counter[]): void {
  for (const counter of counters) {
    counter.inFlight--;
    if (counter.inFlight === 0 && counter.place !== -1) counter.rule.children.released(counter);
  }
}

interface Charge {
  readonly atMs: number;
  /** −1 takes back what was counted. */
  readonly requests: number;
  readonly tokens: number;
  /** Left out: every counter is charged. */
  readonly appliesTo?: (counter: Counter) => boolean;
}

/** Adds a charge to the window in which its moment lies, on each counter that it applies to. */
export function charge(
  book: Pick<RuleBook, "count">,
  counters: readonly Counter[],
  { atMs, requests, tokens, appliesTo }: Charge,
  nowMs: number,
): void {
  if (requests === 0 && tokens === 0) return;
  for (const counter of counters) {
    const { window } = counter;
    const { periodMs } = counter.rule;
    if (periodMs === 0 || (appliesTo !== undefined && !appliesTo(counter))) continue;
    // What a child that isn't kept would take back, it doesn't count.
    if (requests >= 0) keepChild(counter);
    rollWindow(window, periodMs, nowMs);
    // A moment that lies ahead of the window's clock (it stepped back) belongs to the current half.
    const chargedAtMs = atMs >= nowMs ? Math.max(atMs, window.startMs) : atMs;
    book.count(counter, chargedAtMs, requests, tokens);
  }
}
