/**
 * `usage.adjust`: books new costs of stored records (`usage/repricing.ts`). In slices, each of
 * which is one commit.
 */
import { recordsPerTurn } from "../../../shared/bounds.js";
import { addCost, emptySum, type MoneySum, sumUsd } from "../../../shared/domain/money.js";
import { formatMillis } from "../../../shared/time.js";
import type { AuditedRequest } from "../../audit/audit-log.js";
import type { DaemonState } from "../../state.js";
import { addRecord } from "../../usage/add-record.js";
import { estimateMark } from "../../usage/pending-responses.js";
import { type Adjustment, isAdjustable, replacement, reprice } from "../../usage/repricing.js";
import { batchesIn } from "../../usage/usage-reader.js";
import type { UsageRecord } from "../../usage/usage-records.js";
import { untilRecordsAreWritten } from "./export-records.js";

interface AdjustResult {
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
  request: AuditedRequest,
  nowMs: number,
): Promise<AdjustResult> {
  return state.adjustmentQueue.inTurn(async () => {
    const byKey = new Map<number, Adjustment[]>();
    for (const adjustment of adjustments) {
      const ofKey = byKey.get(adjustment.key) ?? [];
      byKey.set(adjustment.key, ofKey);
      ofKey.push(adjustment);
    }
    const keys = [...byKey.keys()];
    let adjusted = 0;
    while (keys.length > 0) {
      // What is read below is in the store.
      await untilRecordsAreWritten(state);
      const slice = { records: 0, added: emptySum(), takenBack: emptySum() };
      const open = state.pending.openEstimates(nowMs);
      for (let read = 0; keys.length > 0 && read < recordsPerTurn; ) {
        const key = keys.shift()!;
        const [batch] = batchesIn(state.store, [{ from: key, before: key + 1 }]);
        // Removed meanwhile, or not written yet.
        if (batch === undefined) continue;
        read += batch.records.length;
        adjustBatch(state, { key, open, slice, nowMs }, [...batch.records], byKey.get(key)!);
      }
      adjusted += slice.records;
      if (slice.records > 0) {
        const after = {
          records: slice.records,
          added_usd: sumUsd(slice.added),
          taken_back_usd: sumUsd(slice.takenBack),
        };
        const audited = [{ subject: "usage records", before: null, after }];
        state.writer.addToBatch(state.audit.record(audited, request, nowMs));
      }
      state.writer.closeContributed();
    }
    await untilRecordsAreWritten(state);
    return { adjusted, server_time: formatMillis(nowMs) };
  });
}

interface Adjusting {
  readonly key: number;
  /** The marks of estimates that are replaced by their usage. */
  readonly open: ReadonlySet<string>;
  /** The records that have another cost now, and the sums of the differences. */
  readonly slice: { records: number; added: MoneySum; takenBack: MoneySum };
  readonly nowMs: number;
}

/** The records of one entry. */
function adjustBatch(
  state: DaemonState,
  { key, open, slice, nowMs }: Adjusting,
  records: UsageRecord[],
  adjustments: readonly Adjustment[],
): void {
  let adjusted = 0;
  for (const adjustment of adjustments) {
    const record = records[adjustment.index];
    if (record === undefined || !isAdjustable(record, adjustment)) continue;
    if (record.estimated && open.has(estimateMark(record))) continue;
    const { repriced, difference } = reprice(record, adjustment, nowMs);
    records[adjustment.index] = repriced;
    addRecord(state, difference, nowMs);
    const cost = difference.totalCost ?? 0;
    if (cost > 0) addCost(state.counts.cost, cost);
    addCost(cost > 0 ? slice.added : slice.takenBack, Math.abs(cost));
    adjusted++;
  }
  if (adjusted > 0) state.writer.addToBatch(replacement(state.store, key, records));
  slice.records += adjusted;
}
