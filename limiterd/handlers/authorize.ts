/**
 * Authorizes a caller without an admission: for requests that no limit applies to, and for those
 * that fail before their admission. Nothing is counted against a rule.
 */
import type { EndedKey } from "../../shared/wire/message-from-daemon.js";
import type { Authorize } from "../../shared/wire/message-to-daemon.js";
import { identifyCaller } from "../keys/identify-caller.js";
import type { ManagedKey } from "../keys/key-ring.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";

/** Returns false if the peer violated the protocol. */
export function authorize(
  state: DaemonState,
  peer: PeerState,
  { id, credential }: Authorize,
  nowMs: number,
): boolean {
  if (peer.role !== "proxy" || !peer.isWelcomed) return false;
  const caller = identifyCaller(state.keys, { userPath: "/", credential }, nowMs);
  if (caller.kind === "denied") return deny(state, peer, id, caller.ended);
  sendAuthorized(peer, id, caller);
  return true;
}

export function sendAuthorized(
  peer: PeerState,
  id: number,
  { key }: { readonly key: ManagedKey | null },
): void {
  peer.send({
    kind: "authorized",
    id,
    userPath: key?.userPath ?? "",
    keyId: key?.id ?? "",
    models: key?.models ?? undefined,
    ...(key === null || key.role === null ? {} : { role: key.role }),
  });
}

/**
 * Denies a request. `ended`: the caller's key if it is known but has ended, for the log and the
 * answer.
 */
export function deny(
  state: DaemonState,
  peer: PeerState,
  id: number,
  ended: EndedKey | null,
): true {
  state.counts.denied++;
  peer.send({ kind: "denied", id, ended });
  return true;
}
