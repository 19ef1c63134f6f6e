/**
 * `usage.adjust`: books new costs of stored records (`usage/repricing.ts`). In slices, each of
 * which is one commit.
 */
import { recordsPerTurn } from "../../../shared/bounds.js";
import { addCost } from "../../../shared/domain/money.js";
import { formatMillis } from "../../../shared/time.js";
import type { DaemonState } from "../../state.js";
import { estimateMark } from "../../usage/pending-responses.js";
import { type Adjustment, isAdjustable, reprice } from "../../usage/repricing.js";
import { batchesIn } from "../../usage/usage-reader.js";
import type { UsageRecord } from "../../usage/usage-records.js";
import { addRecord } from "../apply-settle.js";
import { recordsWritten } from "./export-records.js";

interface Adjusted {
  /**
   * Records whose cost has changed: not those that had it already or are gone, and not estimates
   * of background responses that run or have just ended.
   */
  readonly adjusted: number;
  readonly server_time: string;
}

/** Rejects with `StoreUnreadableError`, or with `StoreFailingError` if it can't be written. */
export function adjustUsage(
  state: DaemonState,
  adjustments: readonly Adjustment[],
  nowMs: number,
): Promise<Adjusted> {
  return state.repricing.inTurn(async () => {
    const byKey = new Map<number, Adjustment[]>();
    for (const one of adjustments) {
      const ofKey = byKey.get(one.key) ?? [];
      byKey.set(one.key, ofKey);
      ofKey.push(one);
    }
    const keys = [...byKey.keys()];
    let adjusted = 0;
    while (keys.length > 0) {
      // What is read below is in the store.
      await recordsWritten(state);
      const open = state.pending.openEstimates(nowMs);
      for (let read = 0; keys.length > 0 && read < recordsPerTurn; ) {
        const key = keys.shift()!;
        const [batch] = batchesIn(state.store, [{ from: key, before: key + 1 }]);
        // Removed meanwhile, or not written yet.
        if (batch === undefined) continue;
        read += batch.records.length;
        adjusted += adjustBatch(state, { key, open, nowMs }, [...batch.records], byKey.get(key)!);
      }
      state.writer.closeContributed();
    }
    await recordsWritten(state);
    return { adjusted, server_time: formatMillis(nowMs) };
  });
}

interface Adjusting {
  readonly key: number;
  /** The marks of estimates that are replaced by their usage. */
  readonly open: ReadonlySet<string>;
  readonly nowMs: number;
}

/** The records of one entry. Returns how many have another cost now. */
function adjustBatch(
  state: DaemonState,
  { key, open, nowMs }: Adjusting,
  records: UsageRecord[],
  adjustments: readonly Adjustment[],
): number {
  let adjusted = 0;
  for (const adjustment of adjustments) {
    const record = records[adjustment.index];
    if (record === undefined || !isAdjustable(record, adjustment)) continue;
    if (record.estimated && open.has(estimateMark(record))) continue;
    const { repriced, difference } = reprice(record, adjustment, nowMs);
    records[adjustment.index] = repriced;
    addRecord(state, difference, nowMs);
    if (difference.totalCost !== null && difference.totalCost > 0)
      addCost(state.counts.cost, difference.totalCost);
    adjusted++;
  }
  if (adjusted > 0) state.repricing.replace(key, records);
  return adjusted;
}
