/**
 * What happens to counters outside an admission: a request holds its slots again, is charged for
 * its tokens, or is counted after the fact; its slots are released. Nothing is judged here.
 */
import { type Counter, keepChild, shareOf } from "../counters/counter.js";
import { rollWindow } from "../counters/window.js";
import type { RuleBook } from "./rule-book.js";

/** Takes a slot on each of the counters. */
export function hold(counters: readonly Counter[]): void {
  for (const counter of counters) {
    keepChild(counter);
    counter.inFlight++;
    if (counter.rule.periodMs === 0) shareOf(counter)?.changed();
  }
}

/** Frees a slot on each of the counters. */
export function release(counters: readonly Counter[]): void {
  for (const counter of counters) {
    counter.inFlight--;
    if (counter.rule.periodMs === 0) shareOf(counter)?.changed();
    if (counter.inFlight === 0 && counter.place !== -1) counter.rule.children.released(counter);
  }
}

interface Charge {
  readonly atMs: number;
  /** −1 takes back what was counted. */
  readonly requests: number;
  readonly tokens: number;
  /**
   * The batch of the journal that counted the requests before, if one has: then the cluster's
   * counters hold them.
   */
  readonly lsn?: number;
  /** Left out: every counter is charged. */
  readonly appliesTo?: (counter: Counter) => boolean;
}

/** Adds a charge to the window in which its moment lies, on each counter that it applies to. */
export function charge(
  book: Pick<RuleBook, "count">,
  counters: readonly Counter[],
  { atMs, requests, tokens, lsn, appliesTo }: Charge,
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
    const share = shareOf(counter);
    if (share === null) continue;
    if (tokens > 0) share.charged(tokens);
    if (requests > 0 && lsn === undefined) share.counted(window);
    if (requests < 0 && lsn !== undefined) share.withdrawn(lsn);
  }
}
