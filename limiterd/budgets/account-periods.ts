/**
 * The periods of accounts: the running period, its spend, and the period in which a record counts.
 * If an account hasn't kept its running period, its spend is summed again from whole days.
 *
 * Not here: the accounts (`budget-book.ts`), and the calculation of periods (`budget-period.ts`).
 */
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";
import type { UsageRecord } from "../usage/usage-records.js";
import {
  type Account,
  type Budget,
  dropPeriod,
  type FoundSpend,
  startOf,
} from "./budget-account.js";
import { type PeriodBounds, periodBounds } from "./budget-period.js";
import {
  addFound,
  addPeriod,
  addSpend,
  emptyPeriod,
  findPeriod,
  isFull,
  type PeriodSpend,
} from "./spend.js";

/**
 * Returns the account's spend on whole days, from the first midnight at or after `fromMs` to the
 * day of `toMs`; null if it isn't known.
 */
export type SpentOnDays = (account: Account, fromMs: number, toMs: number) => FoundSpend | null;

export class AccountPeriods {
  #anchors: ResetAnchors;
  readonly #spentOnDays: SpentOnDays;

  constructor(spentOnDays: SpentOnDays, anchors: ResetAnchors) {
    this.#spentOnDays = spentOnDays;
    this.#anchors = anchors;
  }

  get anchors(): ResetAnchors {
    return this.#anchors;
  }

  /**
   * Sets the anchors and returns the budgets whose running period gets new bounds. Computes bounds
   * once per period length, because there may be very many budgets.
   */
  setAnchors(anchors: ResetAnchors, budgets: Iterable<Budget>, nowMs: number): Budget[] {
    const former = this.#anchors;
    this.#anchors = anchors;
    const movedLengths = new Map<number, boolean>();
    const isMoved = (seconds: number): boolean => {
      const then = periodBounds(seconds, former, nowMs);
      const now = periodBounds(seconds, anchors, nowMs);
      return now.startMs !== then.startMs || now.endMs !== then.endMs;
    };
    const moved: Budget[] = [];
    for (const budget of budgets) {
      const { periodSeconds } = budget.definition;
      const known = movedLengths.get(periodSeconds) ?? isMoved(periodSeconds);
      movedLengths.set(periodSeconds, known);
      if (known) moved.push(budget);
      // Bounds of a past period follow the former anchors, so replace them.
      else this.boundsOf(budget, nowMs);
    }
    return moved;
  }

  /** The running period, from the calendar; a reset within it is ignored. */
  boundsOf(budget: Budget, nowMs: number): PeriodBounds {
    if (nowMs < budget.bounds.startMs || nowMs >= budget.bounds.endMs)
      budget.bounds = periodBounds(budget.definition.periodSeconds, this.#anchors, nowMs);
    return budget.bounds;
  }

  /**
   * Whether a new account must look up its spend in the running period, because the budget has
   * removed it and the clock was set back. For a budget younger than its period, a backfill looks
   * up all accounts (`backfill-budget.ts`).
   */
  mustLookUp(budget: Budget, nowMs: number): boolean {
    return (
      !budget.backfill && startOf(budget, this.boundsOf(budget, nowMs), nowMs) <= budget.sinceMs
    );
  }

  /** The account's spend in the running period. */
  running(account: Account, nowMs: number): PeriodSpend {
    const { budget, spends } = account;
    const bounds = this.boundsOf(budget, nowMs);
    const known = findPeriod(spends, bounds.startMs);
    if (known !== undefined) return known;
    const period = emptyPeriod(bounds.startMs);
    const found = this.mustLookUp(budget, nowMs)
      ? this.#spentOnDays(account, startOf(budget, bounds, nowMs), nowMs)
      : null;
    if (found !== null) addFound(period, found);
    const dropped = addPeriod(spends, period);
    if (dropped !== undefined) dropPeriod(budget, dropped.startMs);
    return period;
  }

  /**
   * Adds a record to the period in which it ended. False if that period isn't kept or was reset
   * after the record ended.
   */
  charge(account: Account, { atMs, totalCost }: UsageRecord, nowMs: number): boolean {
    const { budget } = account;
    const bounds = this.boundsOf(budget, nowMs);
    const startMs =
      atMs >= bounds.startMs && atMs < bounds.endMs ? bounds.startMs : this.#startAt(budget, atMs);
    if (this.#endedBeforeReset(budget, atMs, startMs, nowMs)) return false;
    const period =
      startMs === bounds.startMs
        ? this.running(account, nowMs)
        : this.#otherPeriod(account, startMs);
    if (period === undefined) return false;
    addSpend(period, totalCost);
    return true;
  }

  #startAt(budget: Budget, atMs: number): number {
    return periodBounds(budget.definition.periodSeconds, this.#anchors, atMs).startMs;
  }

  /**
   * Whether the period of a record was reset after the record ended, although the record arrives
   * only now.
   */
  #endedBeforeReset(budget: Budget, atMs: number, startMs: number, nowMs: number): boolean {
    const { resetAtMs } = budget;
    return (
      resetAtMs !== null &&
      atMs < resetAtMs &&
      resetAtMs <= nowMs &&
      this.#startAt(budget, resetAtMs) === startMs
    );
  }

  /** A period that isn't running, for a late settle; undefined if it is too old to be kept. */
  #otherPeriod({ budget, spends }: Account, startMs: number): PeriodSpend | undefined {
    const known = findPeriod(spends, startMs);
    if (known !== undefined) return known;
    if (startMs < budget.sinceMs || isFull(spends, startMs)) {
      dropPeriod(budget, startMs);
      return undefined;
    }
    const period = emptyPeriod(startMs);
    addPeriod(spends, period);
    return period;
  }
}
