/**
 * The hellos of a proxy on each connection: its id, the leases that it holds, and what runs without
 * one because the daemon was away (failure mode `open`).
 */
import { frameBytesMaxToDaemon, leasesPerHello, leasesPerPeerMax } from "../../../shared/bounds.js";
import type { IdMap } from "../../../shared/id-map.js";
import { type Hello, type Lease, uncountedLsn } from "../../../shared/wire/message-to-daemon.js";
import type { DaemonConnection } from "../daemon-connection.js";
import type { Admission } from "../limiter.js";
import { nothingSpent, type SettleOutbox } from "../settle-outbox.js";

/** Numbers and msgpack's own bytes beside the texts of a lease. */
const leaseOverheadBytes = 100;

/** One hello, or several when the leases don't fit into one frame; each takes an id of its own. */
export function* helloMessages(
  proxyId: string,
  held: readonly Admission[],
  connection: Pick<DaemonConnection, "wireVersion" | "nextId">,
): Generator<Hello, void> {
  let at = 0;
  do {
    const end = at + fitting(held, at);
    const leases = held.slice(at, end).map(leaseOf);
    at = end;
    const more = at < held.length;
    const { wireVersion } = connection;
    const id = connection.nextId();
    yield { kind: "hello", id, wireVersion, role: "proxy", proxyId, leases, more };
  } while (at < held.length);
}

/**
 * Gives each request that runs without a verdict a lease for the hello, by which the daemon holds
 * its slots, and a settle that counts it, once like any settle however often the daemon goes away
 * again. What ends it then counts only what it used.
 */
export function leaseUnasked(
  unasked: Set<Admission>,
  to: { readonly held: IdMap<Admission>; readonly outbox: SettleOutbox; nextId(): number },
  nowMonoMs: number,
): void {
  for (const admission of unasked) {
    if (to.held.size >= leasesPerPeerMax) return;
    unasked.delete(admission);
    // Its verdict came late: it has a lease already.
    if (admission.lsn !== 0) continue;
    to.outbox.add("request", admission, nothingSpent, nowMonoMs);
    const targetLsn = admission.target === null ? 0 : uncountedLsn;
    Object.assign(admission, { lease: to.nextId(), lsn: uncountedLsn, targetLsn });
    to.held.set(admission.lease, admission);
  }
}

function leaseOf({
  lease,
  userPath,
  admittedAtMs,
  lsn,
  target,
  targetAtMs,
  targetLsn,
  submission,
}: Admission): Lease {
  return { lease, userPath, admittedAtMs, lsn, target, targetAtMs, targetLsn, submission };
}

/**
 * How many leases from `start` one frame holds: a frame that is too large would close every
 * connection anew.
 */
function fitting(leases: readonly Admission[], start: number): number {
  let bytes = 0;
  for (let i = 0; start + i < leases.length && i < leasesPerHello; i++) {
    const { userPath, target } = leases[start + i]!;
    bytes +=
      leaseOverheadBytes +
      Buffer.byteLength(userPath) +
      (target === null ? 0 : Buffer.byteLength(target.provider) + Buffer.byteLength(target.model));
    if (bytes > frameBytesMaxToDaemon - leaseOverheadBytes * 2) return i;
  }
  return leasesPerHello;
}
