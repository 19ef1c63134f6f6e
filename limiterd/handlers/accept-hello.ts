/**
 * A hello: who connects, and which leases a proxy still holds. Each of them takes its slots again
 * and, after a restart, is counted in the windows that don't hold it. When the peer is welcomed is
 * decided in `reconnect-grace.ts`.
 */
import { leasesPerPeerMax } from "../../shared/bounds.js";
import { plainFailure } from "../../shared/error-code.js";
import { wireVersion } from "../../shared/version.js";
import type { Hello, Lease } from "../../shared/wire/message-to-daemon.js";
import type { KnownProxy, PeerState } from "../peer.js";
import { proxyChange } from "../proxies.js";
import { hold } from "../rules/charge.js";
import { inOrder, matchTarget } from "../rules/match-counters.js";
import { recountLease } from "../rules/recount.js";
import type { DaemonState } from "../state.js";
import { welcomeOrWait } from "./reconnect-grace.js";
import { welcomePeer } from "./welcome-peer.js";

/** False: the peer broke the grammar, or speaks another version of it. */
export function acceptHello(
  state: DaemonState,
  peer: PeerState,
  message: Hello,
  nowMs: number,
): boolean {
  if (peer.role !== null) return false;
  if (message.wireVersion !== wireVersion) {
    sendWrongVersion(peer, message);
    return false;
  }
  if (message.role === "cli") {
    peer.role = "cli";
    peer.helloId = message.id;
    welcomePeer(state, peer);
    return true;
  }
  const proxy = peer.proxy ?? state.proxies.get(message.proxyId, nowMs);
  if (proxy.id !== message.proxyId || peer.leases.size + message.leases.length > leasesPerPeerMax)
    return false;
  if (peer.proxy === null) attachProxy(state, peer, proxy, nowMs);
  for (const lease of message.leases) {
    if (peer.leases.get(lease.lease) !== undefined) return false;
    holdAgain(state, { peer, proxy }, lease, nowMs);
  }
  if (message.more) return true;
  peer.role = "proxy";
  peer.helloId = message.id;
  welcomeOrWait(state, peer, proxy);
  return true;
}

function sendWrongVersion(peer: PeerState, { id, wireVersion: theirs }: Hello): void {
  peer.send({
    kind: "failed",
    id,
    failure: plainFailure(
      400,
      "invalid_request_error",
      `the daemon speaks wire version ${wireVersion}, this peer ${theirs}`,
    ),
  });
}

function attachProxy(
  { writer }: DaemonState,
  peer: PeerState,
  proxy: KnownProxy,
  nowMs: number,
): void {
  peer.proxy = proxy;
  proxy.peer = peer;
  // At once, not with the next snapshot: a daemon that starts after a crash waits for those it
  // finds.
  writer.closeBatch();
  void writer.write([proxyChange(proxy, nowMs)]);
}

/** Takes the slots of a lease again, and counts its request where a restart has forgotten it. */
function holdAgain(
  state: DaemonState,
  { peer, proxy }: { readonly peer: PeerState; readonly proxy: KnownProxy },
  lease: Lease,
  nowMs: number,
): void {
  const { book, settings } = state;
  const ofPath = book.matchPath(lease.userPath, nowMs);
  const ofTarget = matchTarget(book, lease.target);
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
  const counters = inOrder(ofTarget, ofPath);
  if (!submission) hold(counters);
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
  });
  if (settings.rateLimitsEnabled) recountLease(state, proxy, { lease, ofPath, ofTarget }, nowMs);
}
