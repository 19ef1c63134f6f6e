/**
 * How wrong forecasts of budgets would have been: compares predictions at several moments of past
 * periods with the spend at the ends of the periods. Pure; the records are added one by one.
 */
import {
  monthlySeconds,
  quarterlySeconds,
  yearlySeconds,
} from "../../shared/domain/budget-calendar.js";
import {
  type Forecast,
  type ForecastBasis,
  forecastBy,
  forecastOf,
  recentSecondsMax,
} from "../../shared/domain/forecast.js";

export interface CheckedBudget {
  readonly scope: string;
  readonly subject: string;
  readonly perChild: boolean;
  readonly periodLabel: string;
  readonly periodSeconds: number;
  readonly amountUsd: number;
  /** The end of the running period. */
  readonly endMs: number;
}

interface SpendRecord {
  readonly userPath: string;
  readonly labels: readonly string[];
  readonly atMs: number;
  readonly costUsd: number;
}

/** Quantiles of the error: the difference to the real spend, as a share of it. */
export interface ForecastErrors {
  readonly predictions: number;
  readonly median: number | null;
  readonly p90: number | null;
}

export interface CheckedForecast {
  readonly budget: CheckedBudget;
  /** Complete periods with spend, of all children of a template. */
  readonly periods: number;
  readonly chosen: ForecastErrors;
  readonly recent: ForecastErrors;
  readonly period: ForecastErrors;
}

const stepMs = 300_000;
const recentSteps = (recentSecondsMax * 1000) / stepMs;
/** A prediction is made after each of these shares of a period. */
const shares = [0.1, 0.25, 0.5, 0.75, 0.9];
/** Children of a template beyond these are left out. */
const childrenMax = 1_000;
const monthsOf: ReadonlyMap<number, number> = new Map([
  [monthlySeconds, 1],
  [quarterlySeconds, 3],
  [yearlySeconds, 12],
]);

/** US dollars by step. */
type SpendBySteps = Map<number, number>;

export class ForecastCheck {
  readonly #budgets: readonly CheckedBudget[];
  /** By budget, then by child; empty for the budget's own. */
  readonly #spends: readonly Map<string, SpendBySteps>[];
  #firstMs = Number.POSITIVE_INFINITY;

  constructor(budgets: readonly CheckedBudget[]) {
    this.#budgets = budgets;
    this.#spends = budgets.map(() => new Map());
  }

  add(record: SpendRecord): void {
    this.#firstMs = Math.min(this.#firstMs, record.atMs);
    const step = Math.floor(record.atMs / stepMs);
    for (const [i, budget] of this.#budgets.entries()) {
      const child = childOf(budget, record);
      if (child === null) continue;
      const spends = this.#spends[i]!;
      const sums = spends.get(child) ?? (spends.size < childrenMax ? new Map() : null);
      if (sums === null) continue;
      sums.set(step, (sums.get(step) ?? 0) + record.costUsd);
      spends.set(child, sums);
    }
  }

  /** Judges all periods that the records cover and that ended by `nowMs`. */
  result(nowMs: number): readonly CheckedForecast[] {
    return this.#budgets.map((budget, i) => this.#check(budget, this.#spends[i]!, nowMs));
  }

  #check(
    budget: CheckedBudget,
    spends: ReadonlyMap<string, SpendBySteps>,
    nowMs: number,
  ): CheckedForecast {
    const errors = { chosen: [] as number[], recent: [] as number[], period: [] as number[] };
    let periods = 0;
    for (let back = 0; ; back++) {
      const [startMs, endMs] = [periodEnd(budget, back + 1), periodEnd(budget, back)];
      if (startMs < this.#firstMs) break;
      if (endMs > nowMs) continue;
      for (const sums of spends.values())
        if (addErrors(budget, { startMs, endMs, sums, firstMs: this.#firstMs }, errors)) periods++;
    }
    return {
      budget,
      periods,
      chosen: quantiles(errors.chosen),
      recent: quantiles(errors.recent),
      period: quantiles(errors.period),
    };
  }
}

/** Null if the budget doesn't cover the record. */
function childOf({ scope, subject, perChild }: CheckedBudget, record: SpendRecord): string | null {
  if (scope === "label") return record.labels.includes(subject) ? "" : null;
  const below = subject === "/" ? "/" : `${subject}/`;
  if (perChild)
    return record.userPath.startsWith(below) && record.userPath.length > below.length
      ? record.userPath.slice(below.length).split("/")[0]!
      : null;
  return record.userPath === subject || record.userPath.startsWith(below) ? "" : null;
}

/** The end of the period that is `back` periods before the running one; a month keeps its day. */
function periodEnd({ endMs, periodSeconds }: CheckedBudget, back: number): number {
  const months = monthsOf.get(periodSeconds);
  if (months === undefined) return endMs - back * periodSeconds * 1000;
  const end = new Date(endMs);
  end.setUTCMonth(end.getUTCMonth() - back * months);
  return end.getTime();
}

interface PastPeriod {
  readonly startMs: number;
  readonly endMs: number;
  readonly sums: SpendBySteps;
  readonly firstMs: number;
}

/**
 * Adds the errors of a period's predictions. Returns false, and adds nothing, without spend or if
 * the budget was spent, because then its refusals have changed the spend.
 */
function addErrors(
  { amountUsd }: CheckedBudget,
  { startMs, endMs, sums, firstMs }: PastPeriod,
  errors: Readonly<Record<"chosen" | ForecastBasis, number[]>>,
): boolean {
  const spentBetween = (fromMs: number, toMs: number): number => {
    let usd = 0;
    for (let step = Math.floor(fromMs / stepMs); step * stepMs < toMs; step++)
      usd += sums.get(step) ?? 0;
    return usd;
  };
  const realUsd = spentBetween(startMs, endMs);
  if (realUsd <= 0 || realUsd >= amountUsd) return false;
  const note = (to: number[], forecast: Forecast | null): void => {
    if (forecast !== null) to.push(Math.abs(forecast.projectedUsd - realUsd) / realUsd);
  };
  for (const share of shares) {
    const nowMs = Math.floor((startMs + share * (endMs - startMs)) / stepMs) * stepMs;
    const recentFromMs = Math.max(firstMs, nowMs - recentSteps * stepMs);
    const question = {
      nowMs,
      startMs,
      endMs,
      amountUsd,
      spentUsd: spentBetween(startMs, nowMs),
      recent: {
        usd: spentBetween(recentFromMs, nowMs),
        seconds: Math.max(0, nowMs - recentFromMs) / 1000,
      },
    };
    const chosen = forecastOf(question);
    if (chosen === null) continue;
    note(errors.chosen, chosen);
    note(errors.recent, forecastBy("recent", question));
    note(errors.period, forecastBy("period", question));
  }
  return true;
}

function quantiles(errors: readonly number[]): ForecastErrors {
  const sorted = errors.toSorted((a, b) => a - b);
  const quantile = (share: number): number | null =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
  return { predictions: sorted.length, median: quantile(0.5), p90: quantile(0.9) };
}
