/**
 * The end of a connection, whether its proxy died, stopped or lost it: frees the slots of all its
 * requests, and ends its backup.
 */
import type { PeerState } from "../peer.js";
import { releaseAllLeases } from "../rules/slots.js";
import { type DaemonState, hasWaiters } from "../state.js";

/**
 * Call when a connection has ended for any reason. Requests that wait may get the slots at once.
 * What the proxy's requests hold of hard caps is kept for a while, since it may reconnect
 * (`lifecycle/sweep.ts`).
 */
export function freeSlotsOfLostPeer(state: DaemonState, peer: PeerState, nowMs: number): void {
  state.peers.delete(peer);
  state.backups.endCopyOf(peer);
  state.waiters.disconnected(peer);
  releaseAllLeases(peer);
  if (hasWaiters(state)) state.waiters.afterMessage(nowMs);
  state.book.reclaim();
  if (peer.proxy !== null) {
    if (peer.proxy.peer === peer) peer.proxy.peer = null;
    peer.proxy.seenAtMs = nowMs;
    state.proxies.markDirty(peer.proxy);
  }
}
