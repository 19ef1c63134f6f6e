/**
 * A hello names the peer that connects and the leases that a proxy still holds. Each lease takes
 * its slots again; after a crash it is also counted in the windows that lack it. After a restart,
 * there is a reconnect grace period: the daemon welcomes no proxy until all proxies of its last run
 * have reconnected with their leases, or the period is over. Its timer is in
 * `lifecycle/start-timers.ts`.
 */
import { leasesPerPeerMax } from "../../shared/bounds.js";
import { plainFailure } from "../../shared/error-code.js";
import type { Hello, Hold, Lease, UnsupportedHello } from "../../shared/wire/message-to-daemon.js";
import { describeVersions } from "../../shared/wire/wire-versions.js";
import { type KnownProxy, type PeerState, proxyChange } from "../peer.js";
import { recountLease } from "../rules/charge.js";
import { withUpstreamCounter } from "../rules/judge.js";
import { pathCountersOf, targetCountersOf } from "../rules/rule-book.js";
import { releaseAllLeases, releaseInterrupted, releaseLease, takeSlots } from "../rules/slots.js";
import {
  type DaemonState,
  hasHardCaps,
  hasSessionBudgets,
  isLimited,
  judgingUpstream,
  loopTimes,
} from "../state.js";
import { countInertBudgets } from "./admin/daemon-status.js";
import { sendJwts, sendNotices } from "./announcements/announce.js";
import { holdReported } from "./hold-output.js";

/** Returns false if the peer violated the protocol. */
export function acceptHello(
  state: DaemonState,
  peer: PeerState,
  message: Hello,
  nowMs: number,
): boolean {
  if (peer.role !== null) return false;
  if (message.role === "cli") {
    peer.wireVersion = message.wireVersion;
    peer.role = "cli";
    peer.helloId = message.id;
    welcomePeer(state, peer);
    return true;
  }
  const proxy = peer.proxy ?? state.proxies.get(message.proxyId, nowMs);
  if (proxy.id !== message.proxyId || peer.leases.size + message.leases.length > leasesPerPeerMax)
    return false;
  peer.helloId = message.id;
  if (peer.proxy === null) attachProxy(state, peer, proxy, nowMs);
  for (const lease of proxy.peer === peer ? message.leases : []) {
    if (peer.leases.get(lease.lease) !== undefined) return false;
    restoreLease(state, { peer, proxy }, lease, nowMs);
  }
  peer.wireVersion = message.wireVersion;
  state.writer.noteCounted();
  if (message.more) return true;
  peer.role = "proxy";
  welcomeOrWait(state, peer, proxy);
  return true;
}

/** Returns false if the peer violated the protocol. */
export function holdLeases(
  state: DaemonState,
  peer: PeerState,
  { leases }: Hold,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.isWelcomed || proxy === null) return false;
  if (proxy.peer !== peer) return true;
  const added = new Set<number>();
  for (const { lease } of leases) if (peer.leases.get(lease) === undefined) added.add(lease);
  if (peer.leases.size + added.size > leasesPerPeerMax) return false;
  for (const lease of leases) {
    const heldLease = peer.leases.get(lease.lease);
    if (heldLease !== undefined) releaseLease(peer, lease.lease, heldLease);
    restoreLease(state, { peer, proxy, refusedBy: heldLease?.refusedBy }, lease, nowMs);
  }
  state.writer.noteCounted();
  return true;
}

/**
 * A hello of another wire version. The peer gets an error. A proxy stays connected so that it can
 * deliver its settles, which are the same in every version; its leases aren't read and hold no
 * slots. Returns false if the peer must be closed.
 */
export function refuseVersion(
  state: DaemonState,
  peer: PeerState,
  message: UnsupportedHello,
  nowMs: number,
): boolean {
  // A proxy with many leases sends several hellos.
  if (peer.role === "settler") return true;
  if (peer.role !== null || peer.proxy !== null) return false;
  const { id, wireVersion: theirs, role, proxyId } = message;
  const ours = describeVersions(state.settings.wireVersions);
  peer.send({
    kind: "failed",
    id,
    failure: plainFailure(
      400,
      "invalid_request_error",
      `the daemon speaks ${ours}, this peer ${theirs}`,
    ),
  });
  state.onUnsupportedVersion(message);
  if (role !== "proxy" || proxyId === null) return false;
  peer.helloId = id;
  // It stays in `expectedProxies`, because it may reconnect with a version that the daemon speaks.
  attachProxy(state, peer, state.proxies.get(proxyId, nowMs), nowMs);
  peer.role = "settler";
  peer.wireVersion = theirs;
  return true;
}

function attachProxy(
  { proxies, writer }: DaemonState,
  peer: PeerState,
  proxy: KnownProxy,
  nowMs: number,
): void {
  peer.proxy = proxy;
  proxy.seenAtMs = nowMs;
  // A proxy with two connections has left the one with the earlier hello, even if that hello is
  // read last; the daemon just hasn't noticed the end of the connection yet.
  const current = proxy.peer;
  if (current !== null && current.helloId > peer.helloId) return;
  if (current !== null) releaseAllLeases(current);
  proxy.peer = peer;
  // Write the proxy now, not with the next snapshot: after a crash, the next daemon waits for the
  // proxies in the store.
  writer.closeBatch();
  if (writer.isFull) proxies.markDirty(proxy);
  else void writer.write([proxyChange(proxy, nowMs)]);
}

/** Whose lease it is, and the shadow rules that would refuse it: unknown after a crash. */
interface LeaseOwner {
  readonly peer: PeerState;
  readonly proxy: KnownProxy;
  readonly refusedBy?: readonly string[] | undefined;
}

/** Takes the slots of a lease again, and counts its request if a crash has lost the count. */
function restoreLease(
  state: DaemonState,
  { peer, proxy, refusedBy }: LeaseOwner,
  lease: Lease,
  nowMs: number,
): void {
  const { book, settings } = state;
  const countedRequest = { userPath: lease.userPath, target: lease.target, refusedBy };
  const pathCounters = pathCountersOf(book, countedRequest, nowMs);
  const targetCounters = targetCountersOf(book, countedRequest, nowMs);
  const upstream =
    lease.target === null ? null : (judgingUpstream(state)?.targetOf(lease.target, nowMs) ?? null);
  const {
    lease: id,
    userPath,
    target,
    admittedAtMs,
    lsn,
    targetAtMs,
    targetLsn,
    submission,
  } = lease;
  const counters = [...withUpstreamCounter(targetCounters, upstream), ...pathCounters];
  if (!submission) takeSlots(counters);
  releaseInterrupted(proxy, id);
  const interrupted = proxy.interrupted.get(id)?.lease.hold ?? null;
  peer.leases.set(id, {
    userPath,
    target,
    admittedAtMs,
    lsn,
    targetAtMs,
    targetLsn,
    submission,
    counters,
    bookVersion: book.version,
    refusedBy,
    hold: holdReported(state, lease, { counters, interrupted }, nowMs),
  });
  if (
    settings.rateLimitsEnabled &&
    recountLease(state, proxy, { lease, pathCounters, targetCounters }, nowMs)
  )
    state.proxies.markRecounted(proxy);
}

function welcomePeer(state: DaemonState, peer: PeerState): void {
  peer.isWelcomed = true;
  peer.send({
    kind: "welcome",
    id: peer.helloId,
    daemonVersion: state.settings.version,
    settledSeq: peer.proxy?.durableSeq ?? 0,
    limited: isLimited(state),
    inertRules: state.inertRules.size,
    inertBudgets: countInertBudgets(state),
    keysExist: state.keys.size > 0,
    deniedJwts: state.denials.size,
    importedKeysExist: state.keys.importedCount > 0 ? true : undefined,
    hardLimits: hasHardCaps(state) ? true : undefined,
    loopTimes: loopTimes(state) ?? undefined,
    sessionBudgets: hasSessionBudgets(state) ? true : undefined,
  });
  sendJwts(state, peer);
  sendNotices(state, peer);
}

/**
 * Welcomes a proxy after its hello. During the reconnect grace period it must wait for the other
 * expected proxies; the last of them ends the period.
 */
function welcomeOrWait(state: DaemonState, peer: PeerState, proxy: KnownProxy): void {
  state.expectedProxies?.delete(proxy.id);
  if (state.expectedProxies === null) welcomePeer(state, peer);
  else if (state.expectedProxies.size === 0) endReconnectGrace(state);
}

/**
 * Ends the reconnect grace period: welcomes all waiting proxies. From now on the daemon answers
 * admissions.
 */
export function endReconnectGrace(state: DaemonState): void {
  if (state.expectedProxies === null) return;
  for (const id of state.expectedProxies) {
    // The next snapshot writes the proxy as disconnected, so that the next start doesn't wait for
    // it.
    const missing = state.proxies.all.get(id);
    if (missing !== undefined) state.proxies.markDirty(missing);
  }
  state.expectedProxies = null;
  for (const peer of state.peers)
    if (peer.role === "proxy" && !peer.isWelcomed) welcomePeer(state, peer);
}
