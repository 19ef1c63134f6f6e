/**
 * The periods of accounts: the running period, its spend, and the period in which a record counts.
 * If an account has dropped its running period, its spend is summed again from the sums of whole
 * days.
 *
 * Not here: the accounts (`budget-book.ts`), and the calculation of periods (`budget-period.ts`).
 */
import { isPerSession } from "../../shared/domain/budget.js";
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";
import { TimeZones } from "../../shared/domain/time-zone.js";
import type { UsageRecord } from "../usage/usage-records.js";
import {
  type Account,
  type Budget,
  dropPeriod,
  freshAccount,
  type RecordedSpend,
  startOf,
} from "./budget-account.js";
import {
  type BudgetPeriod,
  countedFrom,
  isRolling,
  keptPeriodsMax,
  type PeriodBounds,
  periodBounds,
} from "./budget-period.js";
import {
  addFoundSpend,
  addPeriod,
  addSpend,
  emptyPeriod,
  findPeriod,
  isFull,
  type PeriodSpend,
  type Spends,
} from "./spend.js";

/**
 * Returns the account's spend on whole days, from the first midnight at or after `fromMs` to the
 * day of `toMs`; null if it isn't known.
 */
export type SpentOnDays = (account: Account, fromMs: number, toMs: number) => RecordedSpend | null;

export class AccountPeriods {
  #anchors: ResetAnchors;
  readonly #spentOnDays: SpentOnDays;
  readonly #zones = new TimeZones();
  /** The last computed period of each calendar, because many budgets have the same. */
  readonly #running = new Map<string, PeriodBounds>();

  constructor(spentOnDays: SpentOnDays, anchors: ResetAnchors) {
    this.#spentOnDays = spentOnDays;
    this.#anchors = anchors;
  }

  get anchors(): ResetAnchors {
    return this.#anchors;
  }

  /**
   * Sets the anchors and returns the budgets whose running period gets new bounds. Computes bounds
   * once per calendar, because there may be very many budgets.
   */
  setAnchors(anchors: ResetAnchors, budgets: Iterable<Budget>, nowMs: number): Budget[] {
    const former = this.#anchors;
    this.#anchors = anchors;
    this.#running.clear();
    const movedCalendars = new Map<string, boolean>();
    const isMoved = (period: BudgetPeriod): boolean => {
      const then = periodBounds(period, former, nowMs, this.#zones);
      const now = periodBounds(period, anchors, nowMs, this.#zones);
      return now.startMs !== then.startMs || now.endMs !== then.endMs;
    };
    const movedBudgets: Budget[] = [];
    for (const budget of budgets) {
      const calendar = calendarKey(budget.definition);
      const hasMoved = movedCalendars.get(calendar) ?? isMoved(budget.definition);
      movedCalendars.set(calendar, hasMoved);
      if (hasMoved) movedBudgets.push(budget);
      // The budget's bounds may be those of a past period by the former anchors: replace them.
      else this.boundsOf(budget, nowMs);
    }
    return movedBudgets;
  }

  /** The running period, from the calendar; a reset within it is ignored. */
  boundsOf(budget: Budget, nowMs: number): PeriodBounds {
    if (nowMs < budget.bounds.startMs || nowMs >= budget.bounds.endMs) {
      budget.bounds = this.#runningOf(budget.definition, nowMs);
      if (budget.definition.rollover !== undefined)
        budget.previousStartMs = this.#startAt(budget, budget.bounds.startMs - 1);
    }
    return budget.bounds;
  }

  #runningOf(period: BudgetPeriod, nowMs: number): PeriodBounds {
    const calendar = calendarKey(period);
    const cached = this.#running.get(calendar);
    if (cached !== undefined && nowMs >= cached.startMs && nowMs < cached.endMs) return cached;
    const bounds = periodBounds(period, this.#anchors, nowMs, this.#zones);
    this.#running.set(calendar, bounds);
    return bounds;
  }

  /**
   * Whether a new account must look up its spend in the running period, because the budget has
   * dropped that period and the clock was set back. If the budget is younger than its period, a
   * backfill looks up all accounts instead (`backfill-budget.ts`). Sessions have no sums to look
   * up.
   */
  mustLookUp(budget: Budget, nowMs: number): boolean {
    return (
      !isPerSession(budget.definition) &&
      !budget.isBackfilling &&
      startOf(budget, this.boundsOf(budget, nowMs), nowMs) <= budget.sinceMs
    );
  }

  /** The account's spend in the running period. */
  runningPeriod(account: Account, nowMs: number): PeriodSpend {
    const { budget, spends } = freshAccount(account);
    const bounds = this.boundsOf(budget, nowMs);
    const existing = findPeriod(spends, bounds.startMs);
    if (existing !== undefined) return existing;
    const period = emptyPeriod(bounds.startMs);
    const fromMs = startOf(budget, bounds, nowMs);
    // If some slices of a rolling budget are known, the other slices are empty.
    const recorded =
      this.mustLookUp(budget, nowMs) && !hasPeriodIn(spends, fromMs, bounds)
        ? this.#spentOnDays(account, fromMs, nowMs)
        : null;
    if (recorded !== null) addFoundSpend(period, recorded);
    const dropped = addPeriod(spends, period, keptPeriodsMax(budget.definition));
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
    if (this.#endedBeforeReset(budget, { atMs, startMs }, nowMs)) return false;
    const period =
      startMs === bounds.startMs
        ? this.runningPeriod(account, nowMs)
        : this.#otherPeriod(account, startMs, bounds);
    if (period === undefined) return false;
    addSpend(period, totalCost);
    return true;
  }

  #startAt({ definition }: Budget, atMs: number): number {
    return periodBounds(definition, this.#anchors, atMs, this.#zones).startMs;
  }

  /** The period of an account to which a backfill adds what was spent at `atMs`. */
  lookedUpPeriod(account: Account, atMs: number, nowMs: number): PeriodSpend {
    const { budget, spends } = account;
    const startMs = isRolling(budget.definition)
      ? this.#startAt(budget, Math.min(atMs, nowMs))
      : null;
    if (startMs === null || startMs === this.boundsOf(budget, nowMs).startMs)
      return this.runningPeriod(account, nowMs);
    const existing = findPeriod(spends, startMs);
    if (existing !== undefined) return existing;
    const period = emptyPeriod(startMs);
    addPeriod(spends, period, keptPeriodsMax(budget.definition));
    return period;
  }

  /** Whether the period that began at `startMs` was reset after a record ended at `atMs`. */
  #endedBeforeReset(
    budget: Budget,
    { atMs, startMs }: { readonly atMs: number; readonly startMs: number },
    nowMs: number,
  ): boolean {
    const { resetAtMs, definition } = budget;
    return (
      resetAtMs !== null &&
      atMs < resetAtMs &&
      resetAtMs <= nowMs &&
      (isRolling(definition) || this.#startAt(budget, resetAtMs) === startMs)
    );
  }

  /**
   * A period other than the running one, for a late settle; undefined if it is too old to be kept.
   */
  #otherPeriod(
    { budget, spends }: Account,
    startMs: number,
    bounds: PeriodBounds,
  ): PeriodSpend | undefined {
    const { definition, sinceMs } = budget;
    const existing = findPeriod(spends, startMs);
    if (existing !== undefined) return existing;
    const isCountedSlice = isRolling(definition) && startMs >= countedFrom(definition, bounds);
    if (
      (startMs < sinceMs && !isCountedSlice) ||
      isFull(spends, startMs, keptPeriodsMax(definition))
    ) {
      dropPeriod(budget, startMs);
      return undefined;
    }
    const period = emptyPeriod(startMs);
    addPeriod(spends, period, keptPeriodsMax(definition));
    return period;
  }
}

/** Identifies the calendar of a budget: budgets with the same calendar have the same periods. */
function calendarKey({ periodSeconds, timeZone, anchorDay, rolling }: BudgetPeriod): string {
  return [periodSeconds, timeZone, anchorDay, rolling].join(" ");
}

function hasPeriodIn(spends: Spends, fromMs: number, { endMs }: PeriodBounds): boolean {
  return spends.some(({ startMs }) => startMs >= fromMs && startMs < endMs);
}
