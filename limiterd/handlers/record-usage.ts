/**
 * Records the execution of a settle that counts for the first time: in the budgets, the usage
 * records and their sums.
 */
import { addCost } from "../../shared/domain/money.js";
import { flawOf } from "../../shared/wire/execution.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import { charge } from "../rules/charge.js";
import { matchAll } from "../rules/match-counters.js";
import type { DaemonState } from "../state.js";
import { finalOf, withdrawalOf } from "../usage/pending-responses.js";
import { recordOf, type UsageRecord } from "../usage/usage-records.js";

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
  const { provider, responseId } = settle.record;
  if (settle.part === "final") return recordFinal(state, { record, provider, responseId }, nowMs);
  if (record.totalCost !== null) addCost(state.counts.cost, record.totalCost);
  add(state, record, nowMs);
  if (responseId !== "") state.pending.add(responseId, record, nowMs);
}

interface FinalUsage {
  readonly record: UsageRecord;
  readonly provider: string;
  readonly responseId: string;
}

/**
 * The usage of a response that was charged an estimate: the estimate is taken back where it was
 * charged, and the usage counts now, when it is known. A response that isn't waited for any more
 * has been settled, or given up.
 */
function recordFinal(
  state: DaemonState,
  { record, provider, responseId }: FinalUsage,
  nowMs: number,
): void {
  const found = state.pending.take(provider, responseId);
  if (found === undefined) return;
  const { record: charged } = found;
  const final = finalOf(charged, record);
  add(state, withdrawalOf(charged), nowMs);
  add(state, final, nowMs);
  const moreCost = (final.totalCost ?? 0) - (charged.totalCost ?? 0);
  if (moreCost > 0) addCost(state.counts.cost, moreCost);
  const tokens = totalOf(final) - totalOf(charged);
  // Windows are short, and what they have counted too much has mostly passed.
  if (tokens <= 0 || !state.settings.rateLimitsEnabled) return;
  const { userPath, model } = charged;
  const counters = matchAll(state.book, userPath, { provider, model }, nowMs);
  charge(state.book, counters, { atMs: final.atMs, requests: 0, tokens }, nowMs);
}

function totalOf({ inputTokens, outputTokens }: UsageRecord): number {
  return inputTokens + outputTokens;
}

/** First to the budgets, which may look up in the sums what was spent before this. */
function add(state: DaemonState, record: UsageRecord, nowMs: number): void {
  state.budgets.charge(record, state.labelsOf(record.keyId), nowMs);
  state.usage.add(record, nowMs);
}
