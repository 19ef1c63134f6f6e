/**
 * The slots of leases: taken again after a reconnect, and freed when a lease, its target or its
 * connection ends. An admission takes them itself (`admit.ts`).
 */
import { type Counter, keepChild, shareOf } from "../counters/counter.js";
import type { HeldLease, InterruptedRequest, KnownProxy, PeerState } from "../peer.js";
import { giveBack, withoutTarget } from "./hard-limits.js";
import { isOfTarget } from "./rule-book.js";

/** Takes a slot on each of the counters. */
export function takeSlots(counters: readonly Counter[]): void {
  for (const counter of counters) {
    keepChild(counter);
    counter.inFlight++;
    if (counter.rule.periodMs === 0) shareOf(counter)?.changed();
  }
}

/** Frees a slot on each of the counters. */
export function freeSlots(counters: readonly Counter[]): void {
  for (const counter of counters) {
    counter.inFlight--;
    if (counter.rule.periodMs === 0) {
      shareOf(counter)?.changed();
      counter.rule.onFreed?.(counter);
    }
    if (counter.inFlight === 0 && counter.place !== -1) counter.rule.children.released(counter);
  }
}

/**
 * Ends every lease of a lost connection. What leases hold of hard caps stays held, because their
 * requests may still run.
 */
export function releaseAllLeases(peer: PeerState): void {
  for (const [id, held] of peer.leases.entries()) {
    if (held.hold !== null) interrupt(peer.proxy, id, { ...held, counters: [], hold: held.hold });
    releaseSlots(held);
  }
  peer.leases.clear();
}

function interrupt(proxy: KnownProxy | null, id: number, lease: InterruptedRequest["lease"]): void {
  // A request that was already charged, before its proxy reconnected, isn't charged again.
  if (proxy === null || proxy.interrupted.has(id)) giveBack(lease.hold);
  else proxy.interrupted.set(id, { lease, endedAtMs: null });
}

/** Gives back what an interrupted request holds, unless it was charged or isn't known. */
export function releaseInterrupted({ interrupted }: KnownProxy, id: number): void {
  const request = interrupted.size === 0 ? undefined : interrupted.get(id);
  if (request === undefined || request.endedAtMs !== null) return;
  giveBack(request.lease.hold);
  interrupted.delete(id);
}

/** Ends a lease. */
export function releaseLease({ leases }: PeerState, id: number, heldLease: HeldLease): void {
  leases.take(id);
  if (heldLease.hold !== null) giveBack(heldLease.hold);
  releaseSlots(heldLease);
}

/** A submission holds no slot. */
function releaseSlots(heldLease: HeldLease): void {
  if (!heldLease.submission) freeSlots(heldLease.counters);
}

/**
 * Frees the slots of a lease's target, and what it holds of hard caps; the slots of the path stay
 * held. Returns the lease without the target.
 */
export function releaseTarget(heldLease: HeldLease): HeldLease {
  if (heldLease.hold !== null) giveBack(heldLease.hold);
  freeSlots(heldLease.counters.filter(isOfTarget));
  return {
    ...heldLease,
    target: null,
    targetAtMs: 0,
    targetLsn: 0,
    hold: withoutTarget(heldLease.hold),
    counters: heldLease.counters.filter((counter) => !isOfTarget(counter)),
  };
}
