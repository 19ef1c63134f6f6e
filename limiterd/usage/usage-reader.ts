/**
 * Reading sums and records of usage while more of them come in: in slices, with what isn't written
 * yet, each once. Between two slices the daemon does its other work.
 */
import { rollupsPerSlice, unstoredPerSlice } from "../../shared/bounds.js";
import { type Store, throwMalformed } from "../store/store.js";
import { addRollup, emptyRollup, type Rollup, rollupFromStored } from "./rollup.js";
import { dayIn, daysUnder } from "./rollup-keys.js";
import type { RollupView } from "./rollups.js";
import type { UsageLog } from "./usage-log.js";
import { recordsFromStored, type UsageRecord, usageKey } from "./usage-records.js";

export interface UsageReader {
  readonly store: Store;
  readonly usage: UsageLog;
  /** Resolved after whatever waits for the event loop has had its turn. */
  yieldToEventLoop(): Promise<void>;
}

/** Days, both included. */
export interface Days {
  readonly fromDay: string;
  readonly toDay: string;
}

/** What to do with a sum: take from it at once what is needed. */
export type EachSum = (key: string, sum: Rollup) => void;

/**
 * Hands the sums under a prefix (`rollup-keys.ts`) to `each`, those of `view` as they stand there.
 * Rejects with `StoreUnreadableError`.
 */
export async function readRollups(
  reader: UsageReader,
  prefix: string,
  days: Days,
  each: EachSum,
  view: RollupView = reader.usage.rollups,
): Promise<void> {
  const early = new Set<string>();
  await readUnstored(reader, view, (key, sum) => {
    if (
      !key.startsWith(prefix) ||
      dayIn(key, prefix) < days.fromDay ||
      dayIn(key, prefix) > days.toDay
    )
      return;
    early.add(key);
    each(key, sum);
  });
  await readStored(
    reader,
    prefix,
    days,
    (key, sum) => {
      if (!early.has(key)) each(key, sum);
    },
    view,
  );
}

/**
 * Hands over every sum that the store has never held, before `readStored` is asked for the others:
 * what is written in between, that one finds too.
 */
export async function readUnstored(
  { yieldToEventLoop }: UsageReader,
  view: RollupView,
  each: EachSum,
): Promise<void> {
  let sinceTurn = 0;
  for (const key of view.unstored()) {
    const sum = view.held(key);
    if (sum !== undefined && sum.requests > 0) each(key, sum);
    if (++sinceTurn < unstoredPerSlice) continue;
    sinceTurn = 0;
    await yieldToEventLoop();
  }
}

/**
 * Hands over the sums under a prefix that the store holds, as they stand in memory if they are
 * there. Rejects with `StoreUnreadableError`.
 */
export async function readStored(
  { store, yieldToEventLoop }: UsageReader,
  prefix: string,
  { fromDay, toDay }: Days,
  each: EachSum,
  view: RollupView,
): Promise<void> {
  const { from, before } = daysUnder(prefix, fromDay, toDay);
  for (let next: string | null = from, last = ""; next !== null; ) {
    const slice = store.range("rollups", { from: next, before, limit: rollupsPerSlice });
    for (const { key: rawKey, value } of slice) {
      const key = String(rawKey);
      if (key === last) continue;
      const sum =
        view.held(key) ?? rollupFromStored(value) ?? throwMalformed(store, "rollups", key);
      // A view shows what came after it as nothing.
      if (sum.requests > 0) each(key, sum);
    }
    next = slice.length < rollupsPerSlice ? null : String(slice.at(-1)!.key);
    if (next === null) return;
    last = next;
    await yieldToEventLoop();
  }
}

/**
 * The sum of a few days under a prefix, in one synchronous step: for a month at the most. Throws
 * `StoreUnreadableError`.
 */
export function sumDays(usage: UsageLog, prefix: string, days: readonly string[]): Rollup {
  const sum = emptyRollup();
  for (const day of days) {
    const found = usage.rollups.find(prefix + day);
    if (found !== undefined) addRollup(sum, found);
  }
  return sum;
}

/**
 * Hands every record that was settled before this call and ended at `fromMs` or later to `each`,
 * once. Rejects with `StoreUnreadableError`.
 */
export async function readRecords(
  { store, usage, yieldToEventLoop }: UsageReader,
  fromMs: number,
  each: (record: UsageRecord) => void,
): Promise<void> {
  const early = new Set<number>();
  const lastKey = usage.lastKey;
  const tell = (record: UsageRecord): void => {
    if (record.atMs >= fromMs) each(record);
  };
  for (const { key, records } of usage.unwritten()) {
    if (key !== null) early.add(key);
    for (const record of records) tell(record);
  }
  for (let from = usageKey(fromMs); ; ) {
    const [entry] = store.range("usage", { from, before: lastKey + 1, limit: 1 });
    if (entry === undefined) return;
    const key = Number(entry.key);
    if (!early.has(key))
      for (const record of recordsFromStored(entry.value) ?? throwMalformed(store, "usage", key))
        tell(record);
    from = key + 1;
    await yieldToEventLoop();
  }
}
