/**
 * How far a counter is from its caps. For tokens, the distance depends on how many all hosts have
 * charged, and how fast. Far from the cap, hosts exchange reports less often. Tokens aren't granted
 * before they are used, so a cap that could be reached between two reports is never far.
 */

import { farPeriodMs, farReserveMs, renewMs } from "../bounds.js";
import { type Halves, rollHalves } from "../cluster/halves.js";
import type { CounterTotals } from "../cluster/shared-limits.js";
import { estimateRequests, newWindow } from "../counters/window.js";

/**
 * The cap is near if less than this part of it is left, because one batch of charges may be that
 * large.
 */
const nearPart = 1 / 4;

/** The requests left of a counter according to an answer; infinite without a cap and for gauges. */
export function requestsLeft(
  periodMs: number,
  { maxRequests }: { readonly maxRequests: number | null },
  { nowMs, window, totals }: CounterTotals,
): number {
  if (periodMs === 0 || maxRequests === null) return Number.POSITIVE_INFINITY;
  const counted = newWindow(periodMs, window * periodMs);
  counted.currentRequests = totals.requests;
  counted.previousRequests = totals.requestsBefore;
  return maxRequests - estimateRequests(counted, periodMs, nowMs);
}

export class CapDistance {
  readonly #periodMs: number;
  /** An answer old enough to show how fast the counter grows; null: there is none. */
  #before: { readonly nowMs: number; readonly tokens: Halves } | null = null;
  /** The tokens that all hosts are charged per ms; null if not known yet. */
  #perMs: number | null = null;
  #isFar = false;

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  get isFar(): boolean {
    return this.#isFar;
  }

  /** Notes an answer. `cap` and `left` are infinite without a cap. */
  noteAnswer({ nowMs, window, totals }: CounterTotals, left: number, cap: number): void {
    const tokens = { window, current: totals.tokens, previous: totals.tokensBefore };
    this.#measureSpeed(nowMs, tokens);
    const isShortPeriod = 0 < this.#periodMs && this.#periodMs < farPeriodMs;
    if (isShortPeriod || cap === Number.POSITIVE_INFINITY) this.#isFar = !isShortPeriod;
    else if (this.#perMs === null) this.#isFar = false;
    else {
      const countedMs = nowMs - (window - 1) * this.#periodMs;
      const perMs = Math.max(this.#perMs, (tokens.current + tokens.previous) / countedMs);
      this.#isFar = left >= cap * nearPart && left >= perMs * farReserveMs;
    }
  }

  clear(): void {
    this.#before = null;
    this.#perMs = null;
    this.#isFar = false;
  }

  #measureSpeed(nowMs: number, tokens: Halves): void {
    const before = this.#before;
    const sinceMs = before === null ? 0 : nowMs - before.nowMs;
    if (before !== null && 0 <= sinceMs && sinceMs < renewMs) return;
    this.#before = { nowMs, tokens };
    if (before === null || sinceMs < 0) return;
    const then = rollHalves(before.tokens, tokens.window);
    const grown = tokens.current - then.current + tokens.previous - then.previous;
    this.#perMs = Math.max(0, grown) / sinceMs;
  }
}
