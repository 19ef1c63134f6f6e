/**
 * Removes usage that is older than its retention, a slice at a call: records by their keys, which
 * ascend with time; sums by a walk over all of them, once a day.
 */
import { batchesPerTrim, rollupDaysMin, sumsPerTrim } from "../../shared/bounds.js";
import { dayMs, dayOf } from "../../shared/utc-day.js";
import type { Change, Store } from "../store/store.js";
import { dayOfKey } from "./rollup-keys.js";
import { usageKey } from "./usage-records.js";

interface UsageTrimmer {
  /**
   * The next removals; no record after `rolledUpKey`, however old it seems: a start may need it for
   * the sums.
   */
  next(nowMs: number, rolledUpKey: number): Change[];
}

/** Above every key of a table. */
const end = "\u{10ffff}";

export function createUsageTrimmer(store: Store, retentionDays: number): UsageTrimmer {
  /** The day of the last walk, and the key where it continues; null: it is done. */
  let walkedDay = "";
  let cursor: string | null = null;

  function oldSums(nowMs: number): Change[] {
    const today = dayOf(nowMs);
    if (today !== walkedDay) {
      walkedDay = today;
      cursor = "";
    }
    if (cursor === null) return [];
    const keys = store
      .keys("rollups", { from: cursor, before: end, limit: sumsPerTrim })
      .map(String);
    cursor = keys.length < sumsPerTrim ? null : keys.at(-1)!;
    // Days are kept whole, and a year's worth of them in any case: GET /v1/usage answers for 365.
    const oldest = dayOf(Math.max(0, nowMs - Math.max(retentionDays, rollupDaysMin) * dayMs));
    return keys
      .filter((key) => dayOfKey(key) < oldest)
      .map((key) => ({ table: "rollups", key, value: undefined }));
  }

  return {
    next(nowMs, rolledUpKey) {
      const before = Math.min(
        usageKey(Math.max(0, nowMs - retentionDays * dayMs)),
        rolledUpKey + 1,
      );
      const records: Change[] = store
        .keys("usage", { from: 0, before, limit: batchesPerTrim })
        .map((key) => ({ table: "usage", key, value: undefined }));
      return [...records, ...oldSums(nowMs)];
    },
  };
}
