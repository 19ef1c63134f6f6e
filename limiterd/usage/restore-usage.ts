/**
 * Restores how far the sums of usage were written, and adds the records after that to them again.
 * Each sum holds the number of the last record in it, and so takes only those that it lacks.
 */
import { throwMalformed } from "../store/store.js";
import { storedRecordDays } from "./record-days.js";
import { type RollupPorts, Rollups } from "./rollups.js";
import { storedRollupProgress } from "./stored-rollup-progress.js";
import { createUsageLog, type UsageLog } from "./usage-log.js";
import { recordsFromStored } from "./usage-records.js";

/**
 * Reads what was recorded since all sums were last written, and nothing else. Throws
 * `StoreUnreadableError`.
 */
export function restoreUsage(ports: RollupPorts, nowMs: number): UsageLog {
  const { store } = ports;
  const rollups = new Rollups(ports);
  const rolledUpKey = storedRollupProgress(store);
  const days = storedRecordDays(store, nowMs);
  let lastKey = rolledUpKey;
  let replayed = 0;
  for (;;) {
    const [entry] = store.range("usage", {
      from: lastKey + 1,
      before: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    if (entry === undefined)
      return createUsageLog(rollups, { lastKey, rolledUpKey, replayed, days });
    lastKey = Number(entry.key);
    for (const record of recordsFromStored(entry.value) ??
      throwMalformed(store, "usage", lastKey)) {
      rollups.replay(record, lastKey);
      replayed++;
    }
  }
}
