/**
 * Removes usage beyond its retention or the store's cap, one slice per call: records by day, sums
 * in a daily walk over all sums.
 */
import { batchesPerTrim, rollupDaysMin, sumsPerTrim } from "../../shared/bounds.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { batchesPerTrimWhenFull } from "../bounds.js";
import type { Change, Store } from "../store/store.js";
import type { RecordDays } from "./record-days.js";
import { dayOfKey } from "./rollup-keys.js";

interface UsageTrimmer {
  /**
   * The next removals. Records after `rolledUpKey` stay at any age, because a start may need them
   * for the sums. `isFull`: removes the oldest records at any age.
   */
  next(nowMs: number, rolledUpKey: number, isFull?: boolean): Change[];
}

/** Sorts after every key of a table. */
const afterAllKeys = "\u{10ffff}";

export function createUsageTrimmer(
  store: Store,
  days: RecordDays,
  retentionDays: number,
): UsageTrimmer {
  /** The day of the last walk over all sums. */
  let walkedDay = "";
  /** The key at which the walk continues; null: it is complete. */
  let cursor: string | null = null;

  function removalsOfSums(nowMs: number): Change[] {
    const today = dayOf(nowMs);
    if (today !== walkedDay) {
      walkedDay = today;
      cursor = "";
    }
    if (cursor === null) return [];
    const keys = store
      .keys("rollups", { from: cursor, before: afterAllKeys, limit: sumsPerTrim })
      .map(String);
    cursor = keys.length < sumsPerTrim ? null : keys.at(-1)!;
    // Removes only whole days, and keeps at least a year, because GET /v1/usage covers 365 days.
    const oldest = dayOf(Math.max(0, nowMs - Math.max(retentionDays, rollupDaysMin) * dayMs));
    return keys
      .filter((key) => dayOfKey(key) < oldest)
      .map((key) => ({ table: "rollups", key, value: undefined }));
  }

  function removalsOfRecords(oldestMs: number, rolledUpKey: number, batchesMax: number): Change[] {
    const changes: Change[] = [];
    for (const { run, from, before, isComplete } of days.endedBefore(oldestMs, rolledUpKey + 1)) {
      const limit = batchesMax - changes.length;
      if (limit <= 0) break;
      const keys = store.keys("usage", { from, before, limit });
      for (const key of keys) changes.push({ table: "usage", key, value: undefined });
      if (keys.length === limit) break;
      if (isComplete) changes.push(days.forget(run));
    }
    return changes;
  }

  return {
    next(nowMs, rolledUpKey, isFull = false) {
      const records = isFull
        ? removalsOfRecords(Number.POSITIVE_INFINITY, rolledUpKey, batchesPerTrimWhenFull)
        : removalsOfRecords(nowMs - retentionDays * dayMs, rolledUpKey, batchesPerTrim);
      return [...records, ...removalsOfSums(nowMs)];
    },
  };
}
