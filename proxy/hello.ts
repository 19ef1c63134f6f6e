/** How a proxy introduces itself on each connection: who it is, and what it holds. */
import { leasesPerHello } from "../shared/bounds.js";
import { wireVersion } from "../shared/version.js";
import type { Hello, Lease } from "../shared/wire/message.js";
import type { Admission } from "./limiter.js";

/** One hello, or several when the leases don't fit into one frame; each takes an id of its own. */
export function helloMessages(proxyId: string, held: readonly Admission[], nextId: () => number): Hello[] {
  const leases: Lease[] = held.map(({ lease, userPath, target, admittedAtMs, lsn }) => ({ lease, userPath, ...target, admittedAtMs, lsn }));
  const hellos: Hello[] = [];
  do {
    const told = leases.splice(0, leasesPerHello);
    hellos.push({ kind: "hello", id: nextId(), wireVersion, role: "proxy", proxyId, leases: told, more: leases.length > 0 });
  } while (leases.length > 0);
  return hellos;
}
