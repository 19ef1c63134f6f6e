/** Adds a usage record to the sums and to the budgets that count it. */
import type { Target } from "../../shared/domain/target-name.js";
import type { DaemonState } from "../state.js";
import type { UsageRecord } from "./usage-records.js";

/** Budgets first: they may look up earlier spend in the sums. */
export function addRecord(
  state: DaemonState,
  record: UsageRecord,
  nowMs: number,
  target: Target = record,
): void {
  const { budgets, usage } = state;
  if (budgets.budgets.size > 0) budgets.charge(record, state.labelsOf(record.keyId), nowMs, target);
  usage.add(record, nowMs);
}
