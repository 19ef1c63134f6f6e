/**
 * A settle: it releases the slots that it ends, charges what was used, and is acknowledged once the
 * journal holds it. One that was applied before is acknowledged and counts no more.
 */
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import type { HeldLease, PeerState } from "../peer.js";
import { acknowledge } from "../proxies.js";
import { countSettle } from "../rules/count-settle.js";
import { isSameTarget } from "../rules/match-counters.js";
import { settleFacts } from "../rules/settle-facts.js";
import type { DaemonState } from "../state.js";
import { recordUsage } from "./record-usage.js";
import { releaseLease, releaseTarget } from "./release-slots.js";

/** False: the peer broke the grammar. */
export function applySettle(
  state: DaemonState,
  peer: PeerState,
  message: Settle,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  const maySettle = (peer.role === "proxy" && peer.welcomed) || peer.role === "settler";
  if (!maySettle || proxy === null) return false;
  const { counts, writer, settings } = state;
  // Under 0, without an admission, there is none.
  const held = peer.leases.get(message.lease);
  if (held !== undefined && endsSlots(message)) releaseSettled(peer, held, message);
  if (message.seq <= proxy.settledSeq) {
    counts.repeatedSettles++;
    acknowledge(proxy, Math.min(proxy.durableSeq, message.seq));
    return true;
  }
  proxy.settledSeq = message.seq;
  counts.settledParts[message.part]++;
  counts.tokens = Math.min(counts.tokens + message.tokens, Number.MAX_SAFE_INTEGER);
  const arrived = { proxy, message, held };
  // First: what is counted now is in the batch that holds the settle.
  const taken = writer.journal(proxy.id, message.seq, proxy.onDurable);
  countSettle(state, arrived, settleFacts(state, arrived, nowMs), nowMs);
  state.proxies.markDirty(proxy);
  if (taken && settings.usageEnabled) recordUsage(state, proxy.id, message, nowMs);
  return true;
}

/** Where nothing was sent the slot has moved on, by a hold, or ends with the request. */
function endsSlots({ part }: Settle): boolean {
  return part !== "progress" && part !== "untried";
}

function releaseSettled(peer: PeerState, held: HeldLease, message: Settle): void {
  if (message.part !== "attempt") return releaseLease(peer, message.lease, held);
  // A repeated settle may arrive when the next target is already at work.
  if (isSameTarget(held.target, message.target))
    peer.leases.set(message.lease, releaseTarget(held));
}
