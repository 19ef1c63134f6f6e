/**
 * The reconnect grace period after a restart: no proxy is welcomed before those of the last run are
 * back with their leases, or the period is over. Its length is a timer's (`start-timers.ts`).
 */
import type { KnownProxy, PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import { welcomePeer } from "./welcome-peer.js";

/**
 * Welcomes a proxy that has said hello, or lets it wait for the others; the last of them ends the
 * period.
 */
export function welcomeOrWait(state: DaemonState, peer: PeerState, proxy: KnownProxy): void {
  state.expectedProxies?.delete(proxy.id);
  if (state.expectedProxies === null) welcomePeer(state, peer);
  else if (state.expectedProxies.size === 0) endReconnectGrace(state);
}

/** Welcomes all that have waited: from now on admissions are answered. */
export function endReconnectGrace(state: DaemonState): void {
  if (state.expectedProxies === null) return;
  for (const id of state.expectedProxies) {
    // Written as gone with the next snapshot, so that the next start doesn't wait for it again.
    const missing = state.proxies.all.get(id);
    if (missing !== undefined) state.proxies.markDirty(missing);
  }
  state.expectedProxies = null;
  for (const peer of state.peers)
    if (peer.role === "proxy" && !peer.welcomed) welcomePeer(state, peer);
}
