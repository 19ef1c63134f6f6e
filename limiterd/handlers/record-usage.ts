/**
 * Records the execution of a settle that counts for the first time: in the budgets, the usage
 * records and their sums.
 */
import { addCost } from "../../shared/domain/money.js";
import { flawOf } from "../../shared/wire/execution.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import type { DaemonState } from "../state.js";
import { recordOf } from "../usage/usage-records.js";

/**
 * The settle is in the open batch of the journal. An invalid record is dropped: its request is
 * counted all the same.
 */
export function recordUsage(
  state: DaemonState,
  proxyId: string,
  settle: Settle,
  nowMs: number,
): void {
  if (settle.record === null) return;
  const flaw = flawOf(settle.record);
  if (flaw !== null) {
    state.counts.droppedRecords++;
    return state.onDroppedRecord(proxyId, flaw, settle.record);
  }
  const record = recordOf(settle, settle.record, nowMs);
  if (record.totalCost !== null) addCost(state.counts.cost, record.totalCost);
  // First the budgets, which may look up in the sums what was spent before this.
  state.budgets.charge(record, state.labelsOf(record.keyId), nowMs);
  state.usage.add(record, nowMs);
}
