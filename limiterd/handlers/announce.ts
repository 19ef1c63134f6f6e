/** What the daemon tells its proxies unasked. */
import type { DaemonEvent } from "../../shared/wire/message.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";

/** Tells every proxy that was welcomed. */
export function announce(state: Pick<DaemonState, "peers">, event: DaemonEvent): void {
  for (const peer of state.peers) if (peer.role === "proxy" && peer.welcomed) peer.send(event);
}

/**
 * A commit has failed, or with null one has succeeded after that: proxies are told when it begins,
 * when its reason changes and when it ends. True when that was so.
 */
export function noteStoreState(
  state: Pick<DaemonState, "counts" | "peers" | "storeFailing">,
  error: Error | null,
): boolean {
  if (error !== null) state.counts.failedCommits++;
  const value = error?.message ?? null;
  if (value === state.storeFailing) return false;
  state.storeFailing = value;
  announce(state, { kind: "event", name: "store_failing", value });
  return true;
}

/** Tells one proxy that has just been welcomed, if there is something to tell. */
export function tellStoreState(
  { storeFailing }: Pick<DaemonState, "storeFailing">,
  peer: PeerState,
): void {
  if (storeFailing !== null && peer.role === "proxy")
    peer.send({ kind: "event", name: "store_failing", value: storeFailing });
}
