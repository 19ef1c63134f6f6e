/**
 * Restores the progress of the stored sums of usage, and adds the later records to them again. Each
 * sum has the key of the last record in it, so it takes only the records that it lacks.
 */

import { isCount } from "../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { storedRecordDays } from "./record-days.js";
import { type RollupPorts, Rollups } from "./rollups.js";
import { createUsageLog, type UsageLog } from "./usage-log.js";
import { recordsFromStored } from "./usage-records.js";

/** Reads only the records since all sums were last written. Throws `StoreUnreadableError`. */
export function restoreUsage(ports: RollupPorts): UsageLog {
  const { store } = ports;
  const rollups = new Rollups(ports);
  const rolledUpKey = storedRollupProgress(store);
  const days = storedRecordDays(store);
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

const markKey = "rolled_up";

export function rollupProgressChange(recordKey: number): Change {
  return { table: "marks", key: markKey, value: [recordKey] };
}

/**
 * The key of the last record that all stored sums include; 0 before sums were written. Throws
 * `StoreUnreadableError`.
 */
export function storedRollupProgress(store: Store): number {
  const mark = store.get("marks", markKey);
  if (mark === undefined) return 0;
  const [recordKey] = mark;
  return isCount(recordKey) ? recordKey : throwMalformed(store, "marks", markKey);
}
