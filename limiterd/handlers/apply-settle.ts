/**
 * Applies a settle: frees its slots, charges its usage, and acknowledges it once it is in the
 * journal. A settle that was applied before is only acknowledged. Not here: what the windows of
 * rules count (`rules/charge.ts`).
 */

import { addCost } from "../../shared/domain/money.js";
import { type Target, unknownModelName } from "../../shared/domain/target-name.js";
import { flawOf } from "../../shared/wire/execution.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import { noteBatches } from "../alerts/watch-rates.js";
import { acknowledge, type HeldLease, type PeerState } from "../peer.js";
import {
  charge,
  countSettle,
  type RecordedUse,
  settleFacts,
  type Use,
  withTools,
} from "../rules/charge.js";
import { allCountersOf, isSameTarget } from "../rules/rule-book.js";
import { releaseInterrupted, releaseLease, releaseTarget } from "../rules/slots.js";
import type { DaemonState } from "../state.js";
import { addRecord } from "../usage/add-record.js";
import { cancellationOf, finalOf } from "../usage/pending-responses.js";
import { recordOf, type UsageRecord } from "../usage/usage-records.js";
import { learnPrompt, lowerHold } from "./hold-output.js";
import { type Estimate, takeEstimate, withdrawEstimate } from "./interrupted-requests.js";

/** Returns false if the peer violated the protocol. */
export function applySettle(
  state: DaemonState,
  peer: PeerState,
  message: Settle,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  const maySettle = (peer.role === "proxy" && peer.isWelcomed) || peer.role === "settler";
  if (!maySettle || proxy === null) return false;
  const { counts, writer, settings } = state;
  // The lease number 0, for a request without an admission, has no lease.
  const heldLease = peer.leases.get(message.lease);
  if (heldLease !== undefined && releasesSlots(message)) releaseSettled(peer, heldLease, message);
  else if (releasesSlots(message)) releaseInterrupted(proxy, message.lease);
  if (message.seq <= proxy.settledSeq) {
    counts.repeatedSettles++;
    acknowledge(proxy, Math.min(proxy.durableSeq, message.seq));
    return true;
  }
  proxy.settledSeq = message.seq;
  counts.settledParts[message.part]++;
  // Journal first, so that the counts are in the settle's batch.
  const isJournaled = writer.journal(proxy.id, message.seq, proxy.onDurable);
  const estimate = endsRequest(message) ? takeEstimate(state, proxy, message.lease, nowMs) : null;
  const moreTokens = Math.max(0, message.tokens - (estimate?.charged.tokens ?? 0));
  counts.tokens = Math.min(counts.tokens + moreTokens, Number.MAX_SAFE_INTEGER);
  const arrived = { proxy, message, held: heldLease, charged: estimate?.charged };
  countSettle(state, arrived, settleFacts(state, arrived, nowMs), nowMs);
  if (heldLease !== undefined) learnPrompt(state, heldLease, message);
  if (message.part === "progress" && message.record !== null && heldLease !== undefined)
    peer.leases.set(message.lease, lowerHold(state, heldLease, message.record, nowMs));
  state.proxies.markDirty(proxy);
  if (isJournaled && estimate !== null) withdrawEstimate(state, estimate, nowMs);
  if (isJournaled && settings.usageEnabled)
    recordUsage(state, { proxyId: proxy.id, settle: message, estimate }, nowMs);
  return true;
}

function endsRequest({ part }: Settle): boolean {
  return part === "request" || part === "withdrawn";
}

/**
 * Whether a settle frees slots. That of an untried target doesn't: a `hold` message has moved its
 * slot to the next target, or the slot ends with the request.
 */
function releasesSlots({ part }: Settle): boolean {
  return part !== "progress" && part !== "untried";
}

function releaseSettled(peer: PeerState, heldLease: HeldLease, message: Settle): void {
  if (message.part !== "attempt") return releaseLease(peer, message.lease, heldLease);
  // A repeated settle may arrive after the request has moved to its next target.
  if (isSameTarget(heldLease.target, message.target))
    peer.leases.set(message.lease, releaseTarget(heldLease));
}

interface SettledUsage {
  readonly proxyId: string;
  readonly settle: Settle;
  /** The estimate that the settle replaces; null if none. */
  readonly estimate: Estimate | null;
}

/**
 * Call when the settle is in the open batch of the journal. An invalid record is dropped; its
 * request is still counted.
 */
function recordUsage(
  state: DaemonState,
  { proxyId, settle, estimate }: SettledUsage,
  nowMs: number,
): void {
  if (settle.record === null) return;
  const flaw = flawOf(settle.record);
  if (flaw !== null) {
    state.counts.droppedRecords++;
    return state.onDroppedRecord(proxyId, flaw, settle.record);
  }
  const record = recordOf(settle, settle.record, nowMs);
  const { provider, responseId, batchTokens = null } = settle.record;
  if (settle.part === "final") return recordFinal(state, { record, provider, responseId }, nowMs);
  const moreCost = (record.totalCost ?? 0) - (estimate?.record.totalCost ?? 0);
  if (moreCost > 0) addCost(state.counts.cost, moreCost);
  addRecord(state, record, nowMs, executedTarget(settle, record));
  if (responseId === "") return;
  state.writer.addToBatch(state.pending.add(responseId, record, nowMs, batchTokens));
  if (batchTokens !== null) noteBatches(state, record.userPath, nowMs);
}

/** The settle's target if the record hides its model's name, else the record's. */
function executedTarget({ target }: Settle, record: UsageRecord): Target {
  const { provider, model } = record;
  return target?.provider === provider && model === unknownModelName ? target : record;
}

interface FinalUsage {
  readonly record: UsageRecord;
  readonly provider: string;
  readonly responseId: string;
}

/**
 * Records the usage that the provider reports for a background response: cancels the estimate at
 * the estimate's time, and counts the usage now. A response that isn't pending any more was settled
 * or has expired.
 */
function recordFinal(
  state: DaemonState,
  { record, provider, responseId }: FinalUsage,
  nowMs: number,
): void {
  const pending = state.pending.take(provider, responseId, nowMs);
  if (pending === undefined) return;
  state.writer.addToBatch([pending.change]);
  const { record: charged } = pending.response;
  const finalRecord = finalOf(charged, record);
  const withdrawal = cancellationOf(charged);
  addRecord(state, withdrawal, nowMs);
  addRecord(state, finalRecord, nowMs);
  const moreCost = (finalRecord.totalCost ?? 0) + (withdrawal.totalCost ?? 0);
  if (moreCost > 0) addCost(state.counts.cost, moreCost);
  const { rateLimitsEnabled, tokenWeights } = state.settings;
  if (!rateLimitsEnabled) return;
  const { userPath, model } = charged;
  const target = withTools({ provider, model }, finalRecord.toolCalls);
  const counters = allCountersOf(state.book, { userPath, target }, nowMs);
  const used = (recorded: RecordedUse): { readonly tokens: number; readonly use: Use } => ({
    tokens: recorded.inputTokens + recorded.outputTokens,
    use: { recorded, tokenWeights },
  });
  // Windows aren't reduced, because they are short: most of an overestimate has already left them.
  charge(
    state.book,
    counters,
    {
      atMs: finalRecord.atMs,
      requests: 0,
      ...used(finalRecord),
      charged: used({
        ...charged,
        totalCost: 0 - (withdrawal.totalCost ?? 0),
        // The final record has only the calls beyond those of the estimate.
        toolCalls: undefined,
      }),
    },
    nowMs,
  );
}
