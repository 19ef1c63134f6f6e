/**
 * Answers about a caller alone: for requests that ask for nothing limited, and for those who are
 * nobody. Nothing is counted against a rule.
 */
import type { Authorize } from "../../shared/wire/message.js";
import { identifyCaller } from "../keys/identify-caller.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";

/** False: the peer broke the grammar. */
export function authorize(
  state: DaemonState,
  peer: PeerState,
  { id, credential }: Authorize,
  nowMs: number,
): boolean {
  if (peer.role !== "proxy" || !peer.welcomed) return false;
  const caller = identifyCaller(state.keys, { userPath: "/", credential }, nowMs);
  if (caller === null) return deny(state, peer, id);
  peer.send({
    kind: "authorized",
    id,
    userPath: caller.key?.userPath ?? "",
    keyId: caller.key?.id ?? "",
  });
  return true;
}

/** One answer to all who may not call. */
export function deny(state: DaemonState, peer: PeerState, id: number): true {
  state.counts.denied++;
  peer.send({ kind: "denied", id });
  return true;
}
