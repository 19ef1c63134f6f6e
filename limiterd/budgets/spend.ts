/**
 * The exact spend of one budget, or one child of a template, by period. It keeps the running period
 * and the two before it, for late settles and clock steps back; of a rolling budget the slices that
 * count, and two more.
 */
import { isCount } from "../../shared/checked.js";
import {
  addCost,
  addSum,
  emptySum,
  type MoneySum,
  type PicoUsd,
} from "../../shared/domain/money.js";

/** The spend of one period. */
export interface PeriodSpend {
  /** When the period began, before any reset. */
  readonly startMs: number;
  readonly spent: MoneySum;
  /** The number of records, including those without a price. */
  requests: number;
}

/** Ascending by `startMs`, at most three, or `slicesMax`. */
export type Spends = PeriodSpend[];

export const periodsMax = 3;
/** For a rolling budget: the slices of its length and the running one, and two more. */
export const slicesMax = 33;

export function emptyPeriod(startMs: number): PeriodSpend {
  return { startMs, spent: emptySum(), requests: 0 };
}

/** The period that began at `startMs`; undefined if its spend isn't known. */
export function findPeriod(spends: Spends, startMs: number): PeriodSpend | undefined {
  for (let i = spends.length - 1; i >= 0; i--) if (spends[i]!.startMs === startMs) return spends[i];
  return undefined;
}

/** Adds a new period. Beyond the bound, removes the oldest other one and returns it. */
export function addPeriod(
  spends: Spends,
  period: PeriodSpend,
  max = periodsMax,
): PeriodSpend | undefined {
  const later = spends.findIndex(({ startMs }) => startMs > period.startMs);
  spends.splice(later === -1 ? spends.length : later, 0, period);
  return spends.length > max ? spends.splice(spends[0] === period ? 1 : 0, 1)[0] : undefined;
}

/** Clears the spend of a period, if it is known. */
export function clearPeriod(spends: Spends, startMs: number): void {
  const index = spends.findIndex((period) => period.startMs === startMs);
  if (index !== -1) spends.splice(index, 1, emptyPeriod(startMs));
}

/** Whether all periods are in use and later than this one. */
export function isFull(spends: Spends, startMs: number, max = periodsMax): boolean {
  return spends.length >= max && spends[0]!.startMs > startMs;
}

/** Adds one record in place; `cost` is null without a price. */
export function addSpend(period: PeriodSpend, cost: PicoUsd | null): void {
  period.requests++;
  if (cost !== null) addCost(period.spent, cost);
}

/** Adds spend that a look-up has found, in place. */
export function addFoundSpend(
  period: PeriodSpend,
  recorded: { readonly spent: MoneySum; readonly requests: number },
): void {
  period.requests += recorded.requests;
  addSum(period.spent, recorded.spent);
}

/** `spends`: for each period [startMs, microUsd, picoUsd, requests], flat. */
export function spendsToStored(spends: Spends): readonly unknown[] {
  return spends.flatMap(({ startMs, spent, requests }) => [
    startMs,
    spent.microUsd,
    spent.picoUsd,
    requests,
  ]);
}

/** Null for what `spendsToStored` never wrote. */
export function spendsFromStored(value: readonly unknown[]): Spends | null {
  if (value.length === 0 || value.length % 4 !== 0 || value.length > slicesMax * 4) return null;
  const spends: Spends = [];
  for (let i = 0; i < value.length; i += 4) {
    const [startMs, microUsd, picoUsd, requests] = value.slice(i, i + 4);
    // A week may have begun before the epoch.
    if (
      !Number.isSafeInteger(startMs) ||
      !isCount(microUsd) ||
      !isCount(picoUsd) ||
      picoUsd >= 1_000_000 ||
      !isCount(requests)
    )
      return null;
    if (spends.length > 0 && (startMs as number) <= spends.at(-1)!.startMs) return null;
    spends.push({ startMs: startMs as number, spent: { microUsd, picoUsd }, requests });
  }
  return spends;
}
