/** The hellos of a proxy on each connection: its id, and the leases that it holds. */
import { frameBytesMaxToDaemon, leasesPerHello } from "../../shared/bounds.js";
import { wireVersion } from "../../shared/version.js";
import type { Hello, Lease } from "../../shared/wire/message-to-daemon.js";
import type { Admission } from "./limiter.js";

/** Numbers and msgpack's own bytes beside the texts of a lease. */
const leaseOverheadBytes = 100;

/** One hello, or several when the leases don't fit into one frame; each takes an id of its own. */
export function helloMessages(
  proxyId: string,
  held: readonly Admission[],
  nextId: () => number,
): Hello[] {
  const leases: Lease[] = held.map(
    ({ lease, userPath, admittedAtMs, lsn, target, targetAtMs, targetLsn, submission }) => ({
      lease,
      userPath,
      admittedAtMs,
      lsn,
      target,
      targetAtMs,
      targetLsn,
      submission,
    }),
  );
  const hellos: Hello[] = [];
  do {
    const sent = leases.splice(0, fitting(leases));
    hellos.push({
      kind: "hello",
      id: nextId(),
      wireVersion,
      role: "proxy",
      proxyId,
      leases: sent,
      more: leases.length > 0,
    });
  } while (leases.length > 0);
  return hellos;
}

/**
 * How many of the first leases one frame holds: a frame that is too large would close every
 * connection anew.
 */
function fitting(leases: readonly Lease[]): number {
  let bytes = 0;
  for (let i = 0; i < leases.length && i < leasesPerHello; i++) {
    const { userPath, target } = leases[i]!;
    bytes +=
      leaseOverheadBytes +
      Buffer.byteLength(userPath) +
      (target === null ? 0 : Buffer.byteLength(target.provider) + Buffer.byteLength(target.model));
    if (bytes > frameBytesMaxToDaemon - leaseOverheadBytes * 2) return i;
  }
  return leasesPerHello;
}
