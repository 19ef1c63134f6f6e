/**
 * Reads sums and records of usage while more arrive: each once, including unwritten ones, in slices
 * between which the daemon does its other work.
 */
import { rollupsPerSlice, unstoredPerSlice } from "../../shared/bounds.js";
import { Turns } from "../../shared/long-lists.js";
import { type Store, throwMalformed } from "../store/store.js";
import type { Moments, RecordKeys } from "./record-days.js";
import { addRollup, emptyRollup, isEmptyRollup, type Rollup, rollupFromStored } from "./rollup.js";
import { dayIn, daysUnder } from "./rollup-keys.js";
import type { EachSum, RollupView } from "./rollups.js";
import type { UsageLog } from "./usage-log.js";
import { recordsFromStored, type UsageRecord } from "./usage-records.js";

export interface UsageReader {
  readonly store: Store;
  readonly usage: UsageLog;
  /** Resolves in the next turn of the event loop, after everything that already waits for it. */
  yieldToEventLoop(): Promise<void>;
}

/** Days, both included. */
export interface Days {
  readonly fromDay: string;
  readonly toDay: string;
}

interface RecordBatch {
  readonly key: number;
  /** In the order in which they were recorded. */
  readonly records: readonly UsageRecord[];
}

/** Sums to read: those under a prefix (`rollup-keys.ts`) of some days, as a view shows them. */
interface SumRange {
  readonly prefix: string;
  readonly days: Days;
  readonly view: RollupView;
}

/** Keys of sums: `from` included, `before` not. */
interface KeyRange {
  readonly from: string;
  readonly before: string;
  readonly view: RollupView;
}

/** Passes the sums of a range to `each`. Rejects with `StoreUnreadableError`. */
export async function readRollups(
  reader: UsageReader,
  range: SumRange,
  each: EachSum,
): Promise<void> {
  const { prefix, days } = range;
  const unstoredKeys = new Set<string>();
  await eachUnstored(reader, range.view, (key, sum) => {
    if (
      !key.startsWith(prefix) ||
      dayIn(key, prefix) < days.fromDay ||
      dayIn(key, prefix) > days.toDay
    )
      return;
    unstoredKeys.add(key);
    each(key, sum);
  });
  await eachStored(reader, range, (key, sum) => {
    if (!unstoredKeys.has(key)) each(key, sum);
  });
}

/**
 * Passes every sum that the store doesn't have yet to `each`. Call `eachStored` afterwards for the
 * others; it also finds sums that are written in between, so skip those.
 */
export async function eachUnstored(
  { yieldToEventLoop }: UsageReader,
  view: RollupView,
  each: EachSum,
): Promise<void> {
  const turns = new Turns(unstoredPerSlice);
  for (const key of view.unstoredKeys()) {
    const sum = view.inMemory(key);
    if (sum !== undefined && !isEmptyRollup(sum)) each(key, sum);
    if (turns.isOver()) await yieldToEventLoop();
  }
}

/**
 * Passes the stored sums of a range to `each`, with their values in memory if they are there.
 * Rejects with `StoreUnreadableError`.
 */
export function eachStored(
  reader: UsageReader,
  { prefix, days, view }: SumRange,
  each: EachSum,
): Promise<void> {
  return readRange(reader, { ...daysUnder(prefix, days.fromDay, days.toDay), view }, each);
}

/** As `eachStored`, for any range of keys. */
export async function readRange(
  { store, yieldToEventLoop }: UsageReader,
  { from, before, view }: KeyRange,
  each: EachSum,
): Promise<void> {
  let next = from;
  let last = "";
  for (;;) {
    const slice = store.range("rollups", { from: next, before, limit: rollupsPerSlice });
    for (const { key: rawKey, value } of slice) {
      const key = String(rawKey);
      if (key === last) continue;
      const sum =
        view.inMemory(key) ?? rollupFromStored(value) ?? throwMalformed(store, "rollups", key);
      // In a view, sums that were added after it was opened are empty.
      if (!isEmptyRollup(sum)) each(key, sum);
    }
    if (slice.length < rollupsPerSlice) return;
    next = String(slice.at(-1)!.key);
    last = next;
    await yieldToEventLoop();
  }
}

/**
 * The sum of a few days under a prefix, at most a month, in one synchronous step. Throws
 * `StoreUnreadableError`.
 */
export function sumDays(usage: UsageLog, prefix: string, days: readonly string[]): Rollup {
  const sum = emptyRollup();
  for (const day of days) {
    const daySum = usage.rollups.find(prefix + day);
    if (daySum !== undefined) addRollup(sum, daySum);
  }
  return sum;
}

/**
 * Passes every record of closed batches up to `lastKey` that ended at `fromMs` or later to `each`,
 * once. Rejects with `StoreUnreadableError`.
 */
export async function readRecords(
  { store, usage, yieldToEventLoop }: UsageReader,
  { fromMs, lastKey }: { readonly fromMs: number; readonly lastKey: number },
  each: (record: UsageRecord) => void,
): Promise<void> {
  const unstoredKeys = new Set<number>();
  const passOn = (record: UsageRecord): void => {
    if (record.atMs >= fromMs) each(record);
  };
  for (const { key, records } of usage.unwritten()) {
    if (key > lastKey) break;
    unstoredKeys.add(key);
    for (const record of records) passOn(record);
  }
  const moments = { fromMs, beforeMs: null };
  for (const { key, records } of batchesIn(store, usage.days.keysOf(moments, lastKey + 1))) {
    if (!unstoredKeys.has(key)) for (const record of records) passOn(record);
    await yieldToEventLoop();
  }
}

/**
 * The batches of records in descending order, from the key `from` on: all batches that were
 * unwritten at the first call, then the stored ones that may have records of this time range.
 * Throws `StoreUnreadableError`.
 */
export function* newestBatches(
  { store, usage }: Pick<UsageReader, "store" | "usage">,
  moments: Moments,
  from: number,
): Generator<RecordBatch> {
  const batches = [...usage.unwritten(), usage.open];
  const storedBefore = Math.min(batches[0]!.key, from + 1);
  const ranges = usage.days.keysOf(moments, storedBefore).toReversed();
  for (const batch of batches.toReversed()) if (batch.key <= from) yield batch;
  for (const range of ranges)
    for (let { before } = range; ; ) {
      const keys = store.lastKeys("usage", { from: range.from, before, limit: keysPerQuery });
      if (keys.length === 0) break;
      for (const key of keys.map(Number)) {
        const value = store.get("usage", key);
        before = key;
        // Undefined if it was removed meanwhile, with all earlier ones.
        if (value !== undefined) yield { key, records: storedRecords(store, key, value) };
      }
    }
}

const keysPerQuery = 64;

function storedRecords(store: Store, key: number, value: readonly unknown[]): UsageRecord[] {
  return recordsFromStored(value) ?? throwMalformed(store, "usage", key);
}

/**
 * The batches of records in ranges of keys, from `fromKey` on. Each is read by a short query of the
 * store when it is requested. Throws `StoreUnreadableError`.
 */
export function* batchesIn(
  store: Store,
  ranges: readonly RecordKeys[],
  fromKey = 0,
): Generator<RecordBatch> {
  for (const { from, before } of ranges)
    for (let next = Math.max(from, fromKey); next < before; ) {
      const [entry] = store.range("usage", { from: next, before, limit: 1 });
      if (entry === undefined) break;
      const key = Number(entry.key);
      yield { key, records: storedRecords(store, key, entry.value) };
      next = key + 1;
    }
}
