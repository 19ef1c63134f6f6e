/**
 * Checks the usage records of a store in one pass: the index by day must cover each of them, and
 * the daily sums of all usage must match them. Sums of single paths and models aren't checked: they
 * are written in the same commits, and checking them would need memory for each.
 */
import { isSaturated } from "../../shared/domain/money.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { type Store, StoreUnreadableError, throwMalformed } from "../store/store.js";
import {
  addRollup,
  emptyRollup,
  type Rollup,
  recordKeyIn,
  rollupFromStored,
  rollupOf,
} from "../usage/rollup.js";
import { totalPrefix } from "../usage/rollup-keys.js";
import { recordsFromStored } from "../usage/usage-records.js";

/** Records with adjacent keys, and the days on which they ended. */
interface RecordRun {
  readonly firstKey: number;
  readonly fromDay: number;
  readonly toDay: number;
}

/** A day's stored sum of all paths, and the sum of its records. */
interface DaySum {
  readonly stored: Rollup;
  /** The key of the last records in the stored sum. */
  readonly lastKey: number;
  readonly counted: Rollup;
}

const allPaths = totalPrefix("/");

export class RecordCheck {
  count = 0;
  firstMs: number | null = null;
  lastMs: number | null = null;
  daysCompared = 0;
  readonly #store: Store;
  /** All runs, once loaded. */
  #runs: readonly RecordRun[] | null = null;
  readonly #days = new Map<number, DaySum | null>();
  #firstKey: number | null = null;
  /** Of the run in which the last key was. */
  #runIndex = -1;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Checks the records under the next key. Throws `StoreUnreadableError`. */
  take(key: string | number, value: readonly unknown[]): void {
    const records = recordsFromStored(value) ?? throwMalformed(this.#store, "usage", key);
    const recordKey = Number(key);
    this.#firstKey ??= recordKey;
    const run = this.#runOf(recordKey);
    for (const record of records) {
      this.count++;
      this.firstMs = Math.min(this.firstMs ?? record.atMs, record.atMs);
      this.lastMs = Math.max(this.lastMs ?? record.atMs, record.atMs);
      const day = Math.floor(record.atMs / dayMs);
      if (day < run.fromDay || day > run.toDay)
        throw new StoreUnreadableError(
          `the index of days doesn't lead to the records ${recordKey}: they ended on ${dayOf(record.atMs)}`,
        );
      const sum = this.#sumOf(day, record.atMs);
      if (sum !== null && recordKey <= sum.lastKey && !record.cacheHit)
        addRollup(sum.counted, rollupOf(record));
    }
  }

  /** Compares the sums. Throws `StoreUnreadableError`. */
  finish(): void {
    const completeFrom = this.#completeFrom();
    for (const [day, sum] of this.#days) {
      if (sum === null || day < completeFrom || isSaturated(sum.stored.totalCost)) continue;
      this.daysCompared++;
      const wrong = differences(sum.stored, sum.counted);
      if (wrong.length > 0)
        throw new StoreUnreadableError(
          `the sum of all usage on ${dayOf(day * dayMs)} isn't what its records add up to: ${wrong.join(", ")}`,
        );
    }
  }

  /** The first day of which no record was removed; the records of a run are removed together. */
  #completeFrom(): number {
    // The first record key of a store is 1.
    if (this.#firstKey === 1) return Number.NEGATIVE_INFINITY;
    const first = this.#runs?.[0];
    return first === undefined ? Number.POSITIVE_INFINITY : first.toDay + 1;
  }

  /** The run of a record's key. Throws `StoreUnreadableError` if there is none. */
  #runOf(key: number): RecordRun {
    this.#runs ??= Array.from(this.#store.entries("days"), ({ key: firstKey, value }) => ({
      firstKey: Number(firstKey),
      fromDay: Number(value[0]),
      toDay: Number(value[1]),
    }));
    while (key >= (this.#runs[this.#runIndex + 1]?.firstKey ?? Infinity)) this.#runIndex++;
    const run = this.#runs[this.#runIndex];
    if (run === undefined)
      throw new StoreUnreadableError(`the index of days doesn't lead to the records ${key}`);
    return run;
  }

  /** Null if there is no sum, because none was written since the day began or it was removed. */
  #sumOf(day: number, atMs: number): DaySum | null {
    const existing = this.#days.get(day);
    if (existing !== undefined) return existing;
    const value = this.#store.get("rollups", allPaths + dayOf(atMs));
    const stored = value === undefined ? null : rollupFromStored(value);
    const sum =
      value === undefined || stored === null
        ? null
        : { stored, lastKey: recordKeyIn(value), counted: emptyRollup() };
    this.#days.set(day, sum);
    return sum;
  }
}

const comparedFields = [
  "requests",
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "cacheWriteInputTokens",
  "unpricedRequests",
] as const;

function differences(stored: Rollup, counted: Rollup): string[] {
  const wrong = comparedFields
    .filter((name) => stored[name] !== counted[name])
    .map((name) => `${name} ${stored[name]}, not ${counted[name]}`);
  const [a, b] = [stored.totalCost, counted.totalCost];
  if (a.microUsd !== b.microUsd || a.picoUsd !== b.picoUsd)
    wrong.push(`cost ${a.microUsd} + ${a.picoUsd}, not ${b.microUsd} + ${b.picoUsd}`);
  return wrong;
}
