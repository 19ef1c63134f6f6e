/**
 * The daemon's table of contents: what each message does, in the order in which it is done.
 * Synchronous from bytes to verdict; what must reach the store is handed to the writer. Time is
 * read by the caller, once per message.
 */

import { unreachable } from "../../shared/assert.js";
import { leasesPerPeerMax } from "../../shared/bounds.js";
import { plainFailure } from "../../shared/error-code.js";
import { wireVersion } from "../../shared/version.js";
import type {
  Admin,
  Admit,
  Hello,
  RefusalNote,
  Reroute,
  Settle,
  ToDaemon,
} from "../../shared/wire/message.js";
import { toDaemonFromWire } from "../../shared/wire/to-daemon.js";
import { identifyCaller, keyOf } from "../keys/identify-caller.js";
import type { HeldLease, KnownProxy, PeerState } from "../peer.js";
import { proxyChange } from "../proxies.js";
import { admit, noRules, readmit } from "../rules/admit.js";
import { hold, isSameTarget, matchTarget, release } from "../rules/charge.js";
import { countSettle, journalEntryOf, recountLease, uncountedLsn } from "../rules/count-settle.js";
import { inOrder } from "../rules/rule-book.js";
import { type DaemonState, enforcedBudgets, isLimited } from "../state.js";
import { handleAdmin } from "./admin/handle-admin.js";
import { countInertBudgets } from "./admin/status.js";
import { announce, tellStoreState } from "./announce.js";
import { authorize, deny } from "./authorize.js";
import { recordUsage } from "./record-usage.js";

/** Handles one decoded frame. False: the peer broke the grammar and must be closed. */
export function handleFrame(
  state: DaemonState,
  peer: PeerState,
  frame: unknown,
  nowMs: number,
): boolean {
  const message = toDaemonFromWire(frame);
  if (message === null) return false;
  const valid = handleMessage(state, peer, message, nowMs);
  state.book.rest();
  return valid;
}

function handleMessage(
  state: DaemonState,
  peer: PeerState,
  message: ToDaemon,
  nowMs: number,
): boolean {
  switch (message.kind) {
    case "admit":
      return onAdmit(state, peer, message, nowMs);
    case "settle":
      return onSettle(state, peer, message, nowMs);
    case "reroute":
      return onReroute(state, peer, message, nowMs);
    case "authorize":
      return authorize(state, peer, message, nowMs);
    case "hello":
      return onHello(state, peer, message, nowMs);
    case "refusal":
      return onRefusalNote(state, peer, message);
    case "admin":
      return onAdmin(state, peer, message, nowMs);
    default:
      return unreachable(message);
  }
}

/** A connection ended: its slots are free at once. */
export function handleClose(state: DaemonState, peer: PeerState, nowMs: number): void {
  state.peers.delete(peer);
  for (const [id, { submission, counters }] of peer.leases.entries()) {
    peer.leases.take(id);
    if (!submission) release(counters);
  }
  state.book.rest();
  if (peer.proxy !== null) {
    if (peer.proxy.peer === peer) peer.proxy.peer = null;
    peer.proxy.seenAtMs = nowMs;
    state.proxies.markDirty(peer.proxy);
  }
}

function onHello(state: DaemonState, peer: PeerState, message: Hello, nowMs: number): boolean {
  if (peer.role !== null) return false;
  if (message.wireVersion !== wireVersion) {
    peer.send({
      kind: "failed",
      id: message.id,
      failure: plainFailure(
        400,
        "invalid_request_error",
        `the daemon speaks wire version ${wireVersion}, this peer ${message.wireVersion}`,
      ),
    });
    return false;
  }
  if (message.role === "cli") {
    peer.role = "cli";
    peer.helloId = message.id;
    welcome(state, peer);
    return true;
  }
  const proxy = peer.proxy ?? state.proxies.get(message.proxyId, nowMs);
  if (proxy.id !== message.proxyId || peer.leases.size + message.leases.length > leasesPerPeerMax)
    return false;
  if (peer.proxy === null) {
    peer.proxy = proxy;
    proxy.peer = peer;
    // At once, not with the next snapshot: a daemon that starts after a crash waits for those it
    // finds.
    state.writer.closeBatch();
    void state.writer.write([proxyChange(proxy, nowMs)]);
  }
  for (const lease of message.leases) {
    if (peer.leases.get(lease.lease) !== undefined) return false;
    const ofPath = state.book.matchPath(lease.userPath, nowMs);
    const ofTarget = matchTarget(state.book, lease.target, nowMs);
    const { userPath, target, admittedAtMs, lsn, targetAtMs, targetLsn, submission } = lease;
    const counters = inOrder(ofTarget, ofPath);
    if (!submission) hold(counters);
    peer.leases.set(lease.lease, {
      userPath,
      target,
      admittedAtMs,
      lsn,
      targetAtMs,
      targetLsn,
      submission,
      counters,
      bookVersion: state.book.version,
    });
    if (state.settings.rateLimitsEnabled)
      recountLease(state, proxy, lease, { ofPath, ofTarget }, nowMs);
  }
  if (message.more) return true;
  peer.role = "proxy";
  peer.helloId = message.id;
  state.expectedProxies?.delete(proxy.id);
  if (state.expectedProxies === null) welcome(state, peer);
  else if (state.expectedProxies.size === 0) endReconnectGrace(state);
  return true;
}

/** Welcomes everybody who waited for the others: from now on admissions are answered. */
export function endReconnectGrace(state: DaemonState): void {
  if (state.expectedProxies === null) return;
  for (const id of state.expectedProxies) {
    // Written as gone with the next snapshot, so that the next start doesn't wait for it again.
    const missing = state.proxies.all.get(id);
    if (missing !== undefined) state.proxies.markDirty(missing);
  }
  state.expectedProxies = null;
  for (const peer of state.peers) if (peer.role === "proxy" && !peer.welcomed) welcome(state, peer);
}

function welcome(state: DaemonState, peer: PeerState): void {
  peer.welcomed = true;
  peer.send({
    kind: "welcome",
    id: peer.helloId,
    daemonVersion: state.settings.version,
    settledSeq: peer.proxy?.durableSeq ?? 0,
    limited: isLimited(state),
    inertRules: state.inertRules.size,
    inertBudgets: countInertBudgets(state),
    keysExist: state.keys.size > 0,
  });
  tellStoreState(state, peer);
}

function onAdmit(state: DaemonState, peer: PeerState, message: Admit, nowMs: number): boolean {
  if (peer.role !== "proxy" || !peer.welcomed || message.id === 0) return false;
  if (peer.leases.get(message.id) !== undefined || peer.leases.size >= leasesPerPeerMax)
    return false;
  const { book, counts, settings } = state;
  const caller = identifyCaller(state.keys, message, nowMs);
  if (caller === null) return deny(state, peer, message.id);
  const { userPath } = caller;
  const { targets, submission } = message;
  const key = keyOf(caller);
  const budgets = enforcedBudgets(state);
  const verdict = admit(
    settings.rateLimitsEnabled ? book : noRules,
    { userPath, targets, submission },
    {
      nowMs,
      tokensEnforced: settings.usageEnabled,
      budgets:
        budgets === null ? null : { book: budgets, labels: state.labelsOf(key?.keyId ?? "") },
    },
  );
  if (verdict.admitted) {
    counts.admitted++;
    const lsn = lsnOfAdmission(state);
    const target = submission ? null : targets[verdict.target]!;
    peer.leases.set(message.id, {
      userPath,
      target,
      admittedAtMs: nowMs,
      lsn,
      targetAtMs: target === null ? 0 : nowMs,
      targetLsn: target === null ? 0 : lsn,
      submission,
      counters: verdict.counters,
      bookVersion: book.version,
    });
    peer.send({
      kind: "admitted",
      id: message.id,
      target: verdict.target,
      admittedAtMs: nowMs,
      lsn,
      headers: verdict.headers,
      key,
    });
  } else {
    counts.refused++;
    state.refusals.add({
      atMs: nowMs,
      proxyId: peer.proxy!.id,
      admitId: message.id,
      userPath,
      keyId: key?.keyId ?? "",
      targets,
      submission,
      breach: verdict.breach,
    });
    if ("headers" in verdict) {
      counts.overBudget++;
      peer.send({
        kind: "exceeded",
        id: message.id,
        ...verdict.breach,
        headers: verdict.headers,
        key,
      });
    } else peer.send({ kind: "refused", id: message.id, ...verdict.breach, key });
  }
  return true;
}

/**
 * Told to the proxy, which gives it back with the lease and the settle: by it a window knows, after
 * a crash, whether it holds the request.
 */
function lsnOfAdmission({ settings, writer }: DaemonState): number {
  return settings.rateLimitsEnabled ? writer.lsn : uncountedLsn;
}

function onRefusalNote(state: DaemonState, peer: PeerState, message: RefusalNote): boolean {
  if (peer.role !== "proxy" || !peer.welcomed || peer.proxy === null) return false;
  state.refusals.name(peer.proxy.id, message.id, message);
  return true;
}

/**
 * One step: what is left of the failed target's slot is given back, and the next target with room
 * counts the request. The user path holds its slot all the while.
 */
function onReroute(state: DaemonState, peer: PeerState, message: Reroute, nowMs: number): boolean {
  const held = peer.leases.get(message.lease);
  if (
    peer.role !== "proxy" ||
    !peer.welcomed ||
    message.id === 0 ||
    held === undefined ||
    held.submission
  )
    return false;
  const { book, settings } = state;
  const onPath = withoutTarget(held);
  const verdict = settings.rateLimitsEnabled
    ? readmit(book, onPath.userPath, message.targets, {
        nowMs,
        tokensEnforced: settings.usageEnabled,
      })
    : { admitted: true as const, target: 0, counters: [], headers: null };
  if (verdict.admitted) {
    const target = message.targets[verdict.target]!;
    const lsn = lsnOfAdmission(state);
    peer.leases.set(message.lease, {
      ...onPath,
      target,
      targetAtMs: nowMs,
      targetLsn: lsn,
      counters: inOrder(verdict.counters, onPath.counters),
    });
    peer.send({
      kind: "admitted",
      id: message.id,
      target: verdict.target,
      admittedAtMs: nowMs,
      lsn,
      headers: verdict.headers,
      key: null,
    });
  } else {
    peer.leases.set(message.lease, onPath);
    peer.send({ kind: "refused", id: message.id, ...verdict.breach, key: null });
  }
  return true;
}

/** Gives the target's slot back; the user path's stays. */
function withoutTarget(held: HeldLease): HeldLease {
  if (held.target === null) return held;
  release(held.counters.filter(({ rule }) => rule.definition.scope !== "user_path"));
  return {
    ...held,
    target: null,
    targetAtMs: 0,
    targetLsn: 0,
    counters: held.counters.filter(({ rule }) => rule.definition.scope === "user_path"),
  };
}

function onSettle(state: DaemonState, peer: PeerState, message: Settle, nowMs: number): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.welcomed || proxy === null) return false;
  const { counts, writer, settings } = state;
  const held = message.lease === 0 ? undefined : peer.leases.get(message.lease);
  if (held !== undefined) {
    if (message.part === "attempt") {
      // A repeat may come when the next target is already at work.
      if (isSameTarget(held.target, message.target))
        peer.leases.set(message.lease, withoutTarget(held));
    } else {
      peer.leases.take(message.lease);
      if (!held.submission) release(held.counters);
    }
  }
  if (message.seq <= proxy.settledSeq) {
    counts.repeatedSettles++;
    acknowledge(proxy, Math.min(proxy.durableSeq, message.seq));
    return true;
  }
  proxy.settledSeq = message.seq;
  counts.settled++;
  const { seq } = message;
  const entry = journalEntryOf(state, proxy.id, message, held, nowMs);
  countSettle(state, proxy, message.lease, entry, held, nowMs);
  state.proxies.markDirty(proxy);
  const taken = writer.journal(entry, () => {
    if (seq > proxy.durableSeq) proxy.durableSeq = seq;
    acknowledge(proxy, seq);
  });
  if (taken && settings.usageEnabled) recordUsage(state, proxy.id, message, nowMs);
  return true;
}

/** Owes an acknowledgement up to `seq`; those of one commit leave as one frame. */
function acknowledge(proxy: KnownProxy, seq: number): void {
  if (seq === 0) return;
  if (proxy.ackSeq === 0)
    queueMicrotask(() => {
      proxy.peer?.send({ kind: "settled", seq: proxy.ackSeq });
      proxy.ackSeq = 0;
    });
  if (seq > proxy.ackSeq) proxy.ackSeq = seq;
}

function onAdmin(state: DaemonState, peer: PeerState, message: Admin, nowMs: number): boolean {
  if (!peer.welcomed) return false;
  handleAdmin(state, message, nowMs, {
    answer: (body) => peer.send({ kind: "answer", id: message.id, body }),
    fail: (failure) => peer.send({ kind: "failed", id: message.id, failure }),
    limitedMayHaveChanged: (before) => announceLimited(state, before),
    inertChanged: (name, value) => announce(state, { kind: "event", name, value }),
    firstKeyMade: () => announce(state, { kind: "event", name: "keys_exist", value: true }),
  });
  return true;
}

/** Tells every proxy when the first rule comes or the last one goes. */
function announceLimited(state: DaemonState, before: boolean): void {
  const value = isLimited(state);
  if (value !== before) announce(state, { kind: "event", name: "limited", value });
}
