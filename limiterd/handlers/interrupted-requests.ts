/**
 * Interrupted requests: their proxy has ended without settling them (`docs/hard-caps.md`, "The
 * bound"). Their clients may have got all that the requests held of hard caps. So the daemon
 * charges all of it, and records it as an estimate. A settle that arrives later, such as from the
 * spool of the stopped proxy, replaces the estimate. What running requests hold is stored each
 * second, in case the daemon ends together with the proxy.
 *
 * A request that no hard cap counts holds nothing and is charged nothing: only its proxy knew what
 * it has used.
 */
import { costPicoUsdMax, tokensPerResponseMax } from "../../shared/bounds.js";
import { addCost } from "../../shared/domain/money.js";
import { Turns } from "../../shared/long-lists.js";
import { cutByStopStatus, type Execution, flawOf } from "../../shared/wire/execution.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import type { InterruptedRequest, KnownProxy } from "../peer.js";
import { type Charged, countSettle, settleFacts } from "../rules/charge.js";
import { giveBack, tokensHeld } from "../rules/hard-limits.js";
import { allCountersOf } from "../rules/rule-book.js";
import { releaseInterrupted } from "../rules/slots.js";
import { holdChange, holdFromStored } from "../rules/stored-hold.js";
import { type DaemonState, hasHardCaps } from "../state.js";
import { type Change, throwMalformed } from "../store/store.js";
import { addRecord } from "../usage/add-record.js";
import { cancellationOf } from "../usage/pending-responses.js";
import { recordOf, type UsageRecord } from "../usage/usage-records.js";
import { holdReported } from "./hold-output.js";

/**
 * How long after a lost connection its requests are charged, in ms: a proxy that runs reconnects
 * sooner.
 */
export const interruptedKeptMs = 10_000;
/** How long a settle may replace an estimate, in ms: proxies look for spools every 30 seconds. */
const estimatesKeptMs = 3_600_000;
/** For the fields of a record that only the proxy knew. */
const unknownToDaemon = "unknown";

/** Requests that are charged, or stored, in one turn of the event loop: some milliseconds. */
const requestsPerTurn = 100;

/**
 * Charges what interrupted requests held of hard caps. Call it once a second. If it returns true,
 * more may be left: call it again in a later turn of the event loop.
 */
export function chargeInterrupted(state: DaemonState, nowMs: number): boolean {
  const turns = new Turns(requestsPerTurn);
  for (const proxy of state.proxies.all.values()) {
    if (proxy.interrupted.size === 0) continue;
    state.shares?.enter();
    let isOver = false;
    for (const [id, request] of proxy.interrupted) {
      isOver = endInterrupted(state, { proxy, id, request }, nowMs) && turns.isOver();
      if (isOver) break;
    }
    state.book.reclaim();
    if (isOver) return true;
  }
  return false;
}

interface RequestOfProxy<R extends InterruptedRequest = InterruptedRequest> {
  readonly proxy: KnownProxy;
  readonly id: number;
  readonly request: R;
}

/** An interrupted request that was charged. */
interface EndedRequest extends InterruptedRequest {
  readonly endedAtMs: number;
}

function hasEnded(request: InterruptedRequest): request is EndedRequest {
  return request.endedAtMs !== null;
}

/** Charges a request, or forgets it after `estimatesKeptMs`; false if it is too early for both. */
function endInterrupted(
  state: DaemonState,
  { proxy, id, request }: RequestOfProxy,
  nowMs: number,
): boolean {
  const { lease, endedAtMs } = request;
  if (endedAtMs !== null) {
    return isPast(endedAtMs, estimatesKeptMs, nowMs) && forget(state, proxy, id);
  }
  // After a restart of the daemon, proxies have the same time to reconnect, from its start.
  const lostAtMs = Math.max(proxy.seenAtMs, state.startedAtMs);
  if (!isPast(lostAtMs, interruptedKeptMs, nowMs)) return false;
  giveBack(lease.hold);
  const ended = { lease, endedAtMs: lostAtMs };
  const estimate = estimateOf(proxy.id, id, ended);
  // A proxy that has reconnected without the request never read its verdict.
  if (proxy.peer !== null || estimate === null) return forget(state, proxy, id);
  proxy.interrupted.set(id, ended);
  chargeEstimate(state, { proxy, id, request: ended }, estimate, nowMs);
  return true;
}

/** Compares the distance, because the clock may have been set back. */
function isPast(sinceMs: number, keptMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - sinceMs) >= keptMs;
}

function forget({ writer }: DaemonState, proxy: KnownProxy, id: number): true {
  proxy.interrupted.delete(id);
  if (proxy.storedHolds.delete(id)) void writer.write([holdChange(proxy.id, id, null)]);
  return true;
}

/**
 * One batch of the journal has the counts, the record, and the note that the request was charged.
 * While the store takes no more, only the counts in memory change.
 */
function chargeEstimate(
  state: DaemonState,
  { proxy, id, request }: RequestOfProxy<EndedRequest>,
  record: Execution,
  nowMs: number,
): void {
  const { writer, counts } = state;
  const message = settleOf(id, request, record, nowMs);
  const arrived = { proxy, message, held: { ...request.lease, submission: true } };
  const isJournaled = writer.journal(proxy.id, proxy.settledSeq, proxy.onDurable);
  counts.tokens = Math.min(counts.tokens + message.tokens, Number.MAX_SAFE_INTEGER);
  const facts = { ...settleFacts(state, arrived, nowMs), isUpperBound: true };
  countSettle(state, arrived, facts, nowMs);
  if (!isJournaled) return;
  if (record.totalCost !== null) addCost(counts.cost, record.totalCost);
  writer.addToBatch([holdChange(proxy.id, id, request)]);
  proxy.storedHolds.set(id, request.lease.hold);
  addRecord(state, recordOf(message, record, nowMs), nowMs);
}

function settleOf(
  id: number,
  { lease, endedAtMs }: EndedRequest,
  record: Execution,
  nowMs: number,
): Settle {
  const { userPath, admittedAtMs, lsn, target, targetAtMs, targetLsn } = lease;
  return {
    kind: "settle",
    // No proxy sends it, so the number is not read.
    seq: 1,
    // The request was counted when it was admitted.
    part: "progress",
    lease: id,
    userPath,
    admittedAtMs,
    lsn,
    target,
    targetAtMs,
    targetLsn,
    startedAgoMs: Math.max(0, nowMs - admittedAtMs),
    endedAgoMs: Math.max(0, nowMs - endedAtMs),
    tokens: record.inputTokens + record.outputTokens,
    estimated: true,
    record,
  };
}

/** The record of a request as if it had used all that it held; null if it held nothing. */
function estimateOf(
  proxyId: string,
  id: number,
  { lease, endedAtMs }: EndedRequest,
): Execution | null {
  const { target, hold, admittedAtMs } = lease;
  const { promptTokens, output } = tokensHeld(hold);
  if (target === null || promptTokens + output === 0) return null;
  const { rates } = hold.demand;
  const inputTokens = Math.min(promptTokens, tokensPerResponseMax);
  const outputTokens = Math.min(output, tokensPerResponseMax);
  const inputCost = rates === null ? null : costOf(inputTokens, rates.input);
  const outputCost = rates === null ? null : costOf(outputTokens, rates.output);
  const totalCost =
    inputCost === null || outputCost === null
      ? null
      : Math.min(inputCost + outputCost, costPicoUsdMax);
  const record: Execution = {
    requestId: `${proxyId}_${id}`,
    endpoint: unknownToDaemon,
    provider: target.provider,
    providerType: unknownToDaemon,
    model: target.model,
    status: cutByStopStatus,
    inputTokens,
    outputTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost,
    outputCost,
    totalCost,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: Math.max(0, endedAtMs - admittedAtMs),
    firstByteMs: null,
    keyId: hold.keyId,
    requestedModel: "",
    details: null,
    atMost: { tokens: inputTokens + outputTokens, cost: totalCost },
    responseId: "",
    session: hold.session ?? "",
  };
  return flawOf(record) === null ? record : null;
}

function costOf(tokens: number, rate: number): number {
  return Math.min(tokens * rate, costPicoUsdMax);
}

/**
 * Call it when a proxy asks again for the admission of a request: it hasn't read the verdict, so
 * the request doesn't run. If it was charged as interrupted, its settle still replaces that.
 */
export function forgetUnread({ writer }: DaemonState, proxy: KnownProxy, id: number): void {
  releaseInterrupted(proxy, id);
  if (proxy.storedHolds.size === 0 || proxy.interrupted.has(id)) return;
  if (proxy.storedHolds.delete(id)) void writer.write([holdChange(proxy.id, id, null)]);
}

/** What an interrupted request was charged before its settle arrived. */
export interface Estimate {
  readonly record: UsageRecord;
  readonly charged: Charged;
}

/**
 * Returns the estimate that the settle of a request replaces; usually null. Call it once the settle
 * is in the open batch.
 */
export function takeEstimate(
  state: DaemonState,
  proxy: KnownProxy,
  id: number,
  nowMs: number,
): Estimate | null {
  if (proxy.storedHolds.size > 0 && proxy.storedHolds.delete(id))
    state.writer.addToBatch([holdChange(proxy.id, id, null)]);
  const request = proxy.interrupted.size === 0 ? undefined : proxy.interrupted.get(id);
  if (request === undefined || !hasEnded(request)) return null;
  proxy.interrupted.delete(id);
  const record = estimateOf(proxy.id, id, request);
  if (record === null) return null;
  const message = settleOf(id, request, record, nowMs);
  const { tokenWeights } = state.settings;
  return {
    record: recordOf(message, record, nowMs),
    charged: {
      tokens: message.tokens,
      use: { recorded: record, tokenWeights, isUpperBound: true },
    },
  };
}

/** Cancels the record of an estimate. Call it before the record that replaces it is added. */
export function withdrawEstimate(state: DaemonState, { record }: Estimate, nowMs: number): void {
  addRecord(state, cancellationOf(record), nowMs);
}

/** Stores in slices what requests hold, if that has changed. Call it once a second. */
export async function storeHolds(state: DaemonState): Promise<void> {
  const { proxies, writer, yieldToEventLoop } = state;
  // A failing store must not get more waiting changes.
  if (!hasHardCaps(state) || writer.failing !== null) return;
  const changed: { readonly proxy: KnownProxy; readonly id: number }[] = [];
  for (const proxy of proxies.all.values()) {
    const ids = new Set<number>(proxy.interrupted.keys());
    for (const [id] of proxy.peer?.leases.entries() ?? []) ids.add(id);
    for (const id of ids) if (unstoredOf(proxy, id) !== null) changed.push({ proxy, id });
  }
  for (let i = 0; i < changed.length; i += requestsPerTurn) {
    if (i > 0) await yieldToEventLoop();
    const changes = changed
      .slice(i, i + requestsPerTurn)
      .flatMap(({ proxy, id }): readonly Change[] => {
        // It may have ended meanwhile.
        const lease = unstoredOf(proxy, id);
        if (lease === null) return [];
        proxy.storedHolds.set(id, lease.hold);
        return [holdChange(proxy.id, id, { lease, endedAtMs: null })];
      });
    if (changes.length > 0) void writer.write(changes);
  }
}

/** The lease of a request that runs or may still run, if the store lacks what it holds now. */
function unstoredOf(
  { peer, interrupted, storedHolds }: KnownProxy,
  id: number,
): InterruptedRequest["lease"] | null {
  const request = interrupted.get(id);
  // Until its settle arrives, the store must keep the note that it was charged, even if its proxy
  // has reconnected.
  if (request !== undefined && hasEnded(request)) return null;
  const lease = peer?.leases.get(id) ?? request?.lease;
  const hold = lease?.hold ?? null;
  return lease === undefined || hold === null || storedHolds.get(id) === hold
    ? null
    : { ...lease, hold };
}

/** Restores what requests held when the daemon ended: their proxies may report them again. */
export function restoreHolds(state: DaemonState, nowMs: number): void {
  const { store, proxies, book } = state;
  for (const { key, value } of store.entries("holds")) {
    const stored = holdFromStored(String(key), value) ?? throwMalformed(store, "holds", key);
    const { proxyId, lease, endedAtMs } = stored;
    const { lease: id, holding: _, ...facts } = lease;
    const counters = allCountersOf(book, lease, nowMs);
    const restored = holdReported(state, lease, { counters }, nowMs)!;
    if (endedAtMs !== null) giveBack(restored);
    // Then the charge included what was in transit.
    const hold = endedAtMs === null ? restored : { ...restored, inTransit: 0 };
    const proxy = proxies.get(proxyId, nowMs);
    const held = { ...facts, counters: [], bookVersion: 0, hold };
    proxy.interrupted.set(id, { lease: held, endedAtMs });
    proxy.storedHolds.set(id, hold);
  }
  book.reclaim();
}
