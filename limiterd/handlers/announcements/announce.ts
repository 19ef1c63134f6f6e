/** Events: what the daemon sends to its proxies without a request. */
import { deniedJwtsPerPage } from "../../../shared/bounds.js";
import type { DaemonEvent, JwtChange } from "../../../shared/wire/message-from-daemon.js";
import type { PeerState } from "../../peer.js";
import { type DaemonState, isLimited } from "../../state.js";

/** Sends an event to every proxy that was welcomed. */
export function announce(state: Pick<DaemonState, "peers">, event: DaemonEvent): void {
  for (const peer of state.peers) if (peer.role === "proxy" && peer.isWelcomed) peer.send(event);
}

/**
 * Announces that the first rule or budget was made, or the last one deleted. `before`: `isLimited`
 * before the change.
 */
export function announceIfLimitedChanged(state: DaemonState, before: boolean): void {
  const value = isLimited(state);
  if (value !== before) announce(state, { kind: "event", name: "limited", value });
}

/**
 * Notes that a commit has failed, or that one has succeeded (null). If failures begin, end or
 * change their reason, announces that to the proxies and returns true.
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

/**
 * Notes why the engine can't be reached, or that it can (null), and announces a change to the
 * proxies.
 */
export function noteClusterState(
  state: Pick<DaemonState, "peers" | "clusterFailing">,
  value: string | null,
): void {
  if (value === state.clusterFailing) return;
  state.clusterFailing = value;
  announce(state, { kind: "event", name: "cluster_failing", value });
}

/** Announces when the last backup was made, once there is one. */
export function announceLastBackup(state: Pick<DaemonState, "peers" | "lastBackup">): void {
  const { atMs } = state.lastBackup;
  if (atMs !== null) announce(state, { kind: "event", name: "last_backup", value: atMs });
}

/**
 * Sends a welcomed proxy the reasons why the store can't be written or the engine can't be reached,
 * if any, and the time of the last backup.
 */
export function sendNotices(
  {
    storeFailing,
    clusterFailing,
    lastBackup,
  }: Pick<DaemonState, "storeFailing" | "clusterFailing" | "lastBackup">,
  peer: PeerState,
): void {
  if (peer.role !== "proxy") return;
  if (storeFailing !== null)
    peer.send({ kind: "event", name: "store_failing", value: storeFailing });
  if (clusterFailing !== null)
    peer.send({ kind: "event", name: "cluster_failing", value: clusterFailing });
  if (lastBackup.atMs !== null)
    peer.send({ kind: "event", name: "last_backup", value: lastBackup.atMs });
}

/** Sends every proxy a change of the list of denied JWTs, in parts. */
export function announceJwts(state: Pick<DaemonState, "peers">, change: JwtChange): void {
  for (const part of partsOf(change)) announce(state, part);
}

/** Sends a welcomed proxy the whole list, if there is any. */
export function sendJwts({ denials }: Pick<DaemonState, "denials">, peer: PeerState): void {
  if (denials.size === 0 || peer.role !== "proxy") return;
  for (const part of partsOf({ denied: [...denials.all()], allowed: [], complete: true }))
    peer.send(part);
}

/** Splits the list into frames of bounded size; the last one completes it. */
function* partsOf({ denied, allowed, complete }: JwtChange): Generator<DaemonEvent, void> {
  const length = Math.max(denied.length, allowed.length);
  for (let i = 0; i < length; i += deniedJwtsPerPage) {
    const end = i + deniedJwtsPerPage;
    const value = {
      denied: denied.slice(i, end),
      allowed: allowed.slice(i, end),
      complete: complete && end >= length,
    };
    yield { kind: "event", name: "jwts_denied", value };
  }
}
