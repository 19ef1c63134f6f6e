/**
 * Frees slots: when a settle ends a lease, when the target of a lease has failed, and when a
 * connection ends, so that a dead proxy holds no slots.
 */
import type { HeldLease, PeerState } from "../peer.js";
import { release } from "../rules/charge.js";

/** Ends every lease of a connection. */
export function releaseAllLeases(peer: PeerState): void {
  for (const held of peer.leases.values()) releaseSlots(held);
  peer.leases.clear();
}

/** Ends a lease. */
export function releaseLease({ leases }: PeerState, id: number, held: HeldLease): void {
  leases.take(id);
  releaseSlots(held);
}

/** A submission holds no slot. */
function releaseSlots(held: HeldLease): void {
  if (!held.submission) release(held.counters);
}

/** Frees the slots of a lease's target; the path's stay held. Returns the lease without it. */
export function releaseTarget(held: HeldLease): HeldLease {
  release(held.counters.filter(({ rule }) => rule.definition.scope !== "user_path"));
  return {
    ...held,
    target: null,
    targetAtMs: 0,
    targetLsn: 0,
    counters: held.counters.filter(({ rule }) => rule.definition.scope === "user_path"),
  };
}
