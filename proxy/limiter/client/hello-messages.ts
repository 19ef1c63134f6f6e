/**
 * The hellos of a proxy on each connection: its id, and the leases that it holds.
 */
import { frameBytesMaxToDaemon, leasesPerHello } from "../../../shared/bounds.js";
import type { Hello, Lease } from "../../../shared/wire/message-to-daemon.js";
import type { DaemonConnection } from "../daemon-connection.js";
import type { Admission } from "../limiter.js";

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
    const end = at + fittingLeases(held, at);
    const leases = held.slice(at, end).map(leaseOf);
    at = end;
    const more = at < held.length;
    const { wireVersion } = connection;
    const id = connection.nextId();
    yield { kind: "hello", id, wireVersion, role: "proxy", proxyId, leases, more };
  } while (at < held.length);
}

/** As the daemon is told of it. */
export function leaseOf({
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
export function fittingLeases(
  leases: readonly Pick<Lease, "userPath" | "target">[],
  start: number,
): number {
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
