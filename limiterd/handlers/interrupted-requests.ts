/**
 * Requests whose proxy has ended without settling them (`docs/hard-caps.md`, "The bound"). Their
 * clients may have got all that they held of hard caps, so this is charged, with a usage record
 * that is an estimate. What running requests hold is stored each second, for the case that the
 * daemon ends together with the proxy. A settle that arrives all the same, such as from the spool
 * of a proxy that has stopped, replaces the estimate.
 *
 * Requests that no hard cap counts hold nothing, and only a proxy knows what they have used: they
 * are charged nothing.
 */
import { costPicoUsdMax, tokensPerResponseMax } from "../../shared/bounds.js";
import { addCost } from "../../shared/domain/money.js";
import { Turns } from "../../shared/long-lists.js";
import { cutByStopStatus, type Execution, flawOf } from "../../shared/wire/execution.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import type { KnownProxy, Orphan } from "../peer.js";
import { type Charged, countSettle, settleFacts } from "../rules/charge.js";
import { giveBack, tokensHeld } from "../rules/hard-limits.js";
import { matchAll } from "../rules/rule-book.js";
import { holdChange, holdFromStored } from "../rules/stored-hold.js";
import { type DaemonState, hasHardCaps } from "../state.js";
import { type Change, throwMalformed } from "../store/store.js";
import { addRecord } from "../usage/add-record.js";
import { withdrawalOf } from "../usage/pending-responses.js";
import { recordOf, type UsageRecord } from "../usage/usage-records.js";
import { holdReported } from "./hold-output.js";

/**
 * How long hard caps count the requests of a lost connection, in ms. A proxy reconnects sooner,
 * unless it has ended.
 */
export const orphansKeptMs = 10_000;
/** How long a settle may replace an estimate: proxies look for spools every 30 seconds. */
const estimatesKeptMs = 3_600_000;
/** For the fields of a record that only the proxy knew. */
const unknownToDaemon = "unknown";

/** Requests that are charged, or stored, in one turn of the event loop: some milliseconds. */
const requestsPerTurn = 100;

/**
 * Charges what requests of ended proxies held of hard caps. Call it once a second, and again in a
 * later turn if it returns true: then there may be more of them.
 */
export function chargeOrphans(state: DaemonState, nowMs: number): boolean {
  const turns = new Turns(requestsPerTurn);
  for (const proxy of state.proxies.all.values()) {
    if (proxy.orphans.size === 0) continue;
    state.shares?.enter();
    let isOver = false;
    for (const [id, orphan] of proxy.orphans) {
      isOver = endOrphan(state, { proxy, id, orphan }, nowMs) && turns.isOver();
      if (isOver) break;
    }
    state.book.reclaim();
    if (isOver) return true;
  }
  return false;
}

interface Interrupted<O extends Orphan = Orphan> {
  readonly proxy: KnownProxy;
  readonly id: number;
  readonly orphan: O;
}

/** It ended with its proxy, and was charged. */
interface EndedOrphan extends Orphan {
  readonly endedAtMs: number;
}

function hasEnded(orphan: Orphan): orphan is EndedOrphan {
  return orphan.endedAtMs !== null;
}

/** False if it is not time yet. */
function endOrphan(state: DaemonState, { proxy, id, orphan }: Interrupted, nowMs: number): boolean {
  const { lease, endedAtMs } = orphan;
  if (endedAtMs !== null) {
    return isPast(endedAtMs, estimatesKeptMs, nowMs) && forget(state, proxy, id);
  }
  // Proxies have as long to come back after a restart of the daemon, which counts from its start.
  const lostAtMs = Math.max(proxy.seenAtMs, state.startedAtMs);
  if (!isPast(lostAtMs, orphansKeptMs, nowMs)) return false;
  giveBack(lease.hold);
  const ended = { lease, endedAtMs: lostAtMs };
  const estimate = estimateOf(proxy.id, id, ended);
  // If the proxy is back without the request, it never read the verdict.
  if (proxy.peer !== null || estimate === null) return forget(state, proxy, id);
  proxy.orphans.set(id, ended);
  chargeEstimate(state, { proxy, id, orphan: ended }, estimate, nowMs);
  return true;
}

/** Either way, because the clock may have been set back. */
function isPast(sinceMs: number, keptMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - sinceMs) >= keptMs;
}

function forget({ writer }: DaemonState, proxy: KnownProxy, id: number): true {
  proxy.orphans.delete(id);
  if (proxy.storedHolds.delete(id)) void writer.write([holdChange(proxy.id, id, null)]);
  return true;
}

/**
 * The counts, the record and the note that it was charged are in one batch. While the store can't
 * take more, only the counts in memory have it.
 */
function chargeEstimate(
  state: DaemonState,
  { proxy, id, orphan }: Interrupted<EndedOrphan>,
  record: Execution,
  nowMs: number,
): void {
  const { writer, counts } = state;
  const message = settleOf(id, orphan, record, nowMs);
  const arrived = { proxy, message, held: { ...orphan.lease, submission: true } };
  const isJournaled = writer.journal(proxy.id, proxy.settledSeq, proxy.onDurable);
  counts.tokens = Math.min(counts.tokens + message.tokens, Number.MAX_SAFE_INTEGER);
  const facts = { ...settleFacts(state, arrived, nowMs), isUpperBound: true };
  countSettle(state, arrived, facts, nowMs);
  if (!isJournaled) return;
  if (record.totalCost !== null) addCost(counts.cost, record.totalCost);
  writer.addToBatch([holdChange(proxy.id, id, orphan)]);
  proxy.storedHolds.set(id, orphan.lease.hold);
  addRecord(state, recordOf(message, record, nowMs), nowMs);
}

function settleOf(
  id: number,
  { lease, endedAtMs }: EndedOrphan,
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

/** The record of all that a request held; null if that is nothing. */
function estimateOf(
  proxyId: string,
  id: number,
  { lease, endedAtMs }: EndedOrphan,
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

/** What a request was charged before its settle has arrived. */
export interface Estimate {
  readonly record: UsageRecord;
  readonly charged: Charged;
}

/**
 * Call it with the settle that ends a request, once that is in the open batch: the estimate that it
 * replaces; usually null.
 */
export function takeEstimate(
  state: DaemonState,
  proxy: KnownProxy,
  id: number,
  nowMs: number,
): Estimate | null {
  if (proxy.storedHolds.size > 0 && proxy.storedHolds.delete(id))
    state.writer.addToBatch([holdChange(proxy.id, id, null)]);
  const orphan = proxy.orphans.size === 0 ? undefined : proxy.orphans.get(id);
  if (orphan === undefined || !hasEnded(orphan)) return null;
  proxy.orphans.delete(id);
  const record = estimateOf(proxy.id, id, orphan);
  if (record === null) return null;
  const message = settleOf(id, orphan, record, nowMs);
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
  addRecord(state, withdrawalOf(record), nowMs);
}

/** Stores what requests hold, where that has changed, in slices. Call it once a second. */
export async function storeHolds(state: DaemonState): Promise<void> {
  const { proxies, writer, yieldToEventLoop } = state;
  // A failing store must not get more waiting changes.
  if (!hasHardCaps(state) || writer.failing !== null) return;
  const changed: { readonly proxy: KnownProxy; readonly id: number }[] = [];
  for (const proxy of proxies.all.values()) {
    const ids = new Set<number>(proxy.orphans.keys());
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

/** A request that runs or may still run, if the store has something else of it than it holds. */
function unstoredOf(
  { peer, orphans, storedHolds }: KnownProxy,
  id: number,
): Orphan["lease"] | null {
  const orphan = orphans.get(id);
  // The store must say until its settle that it was charged, also if its proxy has returned.
  if (orphan !== undefined && hasEnded(orphan)) return null;
  const lease = peer?.leases.get(id) ?? orphan?.lease;
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
    const restored = holdReported(state, lease, matchAll(book, lease, nowMs), nowMs)!;
    if (endedAtMs !== null) giveBack(restored);
    // What was charged included what was on its way.
    const hold = endedAtMs === null ? restored : { ...restored, beyond: 0 };
    const proxy = proxies.get(proxyId, nowMs);
    const held = { ...facts, counters: [], bookVersion: 0, hold };
    proxy.orphans.set(id, { lease: held, endedAtMs });
    proxy.storedHolds.set(id, hold);
  }
  book.reclaim();
}
