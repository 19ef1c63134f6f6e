/**
 * The reconnect grace period after a restart: the daemon welcomes no proxy until those of the last
 * run are back with their leases, or the period is over. Its timer is in `start-timers.ts`.
 */
import type { KnownProxy, PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import { welcomePeer } from "./welcome-peer.js";

/**
 * Welcomes a proxy after its hello, or makes it wait for the others; the last expected proxy ends
 * the period.
 */
export function welcomeOrWait(state: DaemonState, peer: PeerState, proxy: KnownProxy): void {
  state.expectedProxies?.delete(proxy.id);
  if (state.expectedProxies === null) welcomePeer(state, peer);
  else if (state.expectedProxies.size === 0) endReconnectGrace(state);
}

/** Welcomes all waiting proxies: the daemon answers admissions from now on. */
export function endReconnectGrace(state: DaemonState): void {
  if (state.expectedProxies === null) return;
  for (const id of state.expectedProxies) {
    // The next snapshot writes the proxy as disconnected, so that the next start doesn't wait for
    // it.
    const missing = state.proxies.all.get(id);
    if (missing !== undefined) state.proxies.markDirty(missing);
  }
  state.expectedProxies = null;
  for (const peer of state.peers)
    if (peer.role === "proxy" && !peer.welcomed) welcomePeer(state, peer);
}
