/**
 * Brings back how far the sums of usage were written, and adds the records behind that to them
 * again. Each sum decides for itself, by its number, which of these it holds already.
 */
import { isCount } from "../../shared/assert.js";
import type { Store } from "../store/store.js";
import { rolledUpMark } from "../store/store.js";
import { createRollups, type RollupPorts } from "./rollups.js";
import { createUsageLog, type UsageLog } from "./usage-log.js";
import { damaged } from "./usage-reader.js";
import { recordsFromStored } from "./usage-records.js";

/**
 * Reads what was recorded since the sums were last written as a whole, and nothing else. Throws
 * `StoreUnreadableError`.
 */
export function restoreUsage(ports: RollupPorts): UsageLog {
  const { store } = ports;
  const rollups = createRollups(ports);
  const rolledUpKey = rolledUpIn(store);
  let lastKey = rolledUpKey;
  let replayed = 0;
  for (;;) {
    const [entry] = store.range("usage", {
      from: lastKey + 1,
      before: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    if (entry === undefined) return createUsageLog(rollups, { lastKey, rolledUpKey, replayed });
    lastKey = Number(entry.key);
    for (const record of recordsFromStored(entry.value) ?? damaged(store, "usage", lastKey)) {
      rollups.replay(record, lastKey);
      replayed++;
    }
  }
}

function rolledUpIn(store: Store): number {
  const mark = store.get("marks", rolledUpMark);
  if (mark === undefined) return 0;
  const [key] = mark;
  return isCount(key) ? key : damaged(store, "marks", rolledUpMark);
}
