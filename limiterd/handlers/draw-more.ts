/** A running request asks hard caps for more output. */
import type { Draw } from "../../shared/wire/message-to-daemon.js";
import type { PeerState } from "../peer.js";

/** False: the peer broke the grammar. */
export function drawMore(peer: PeerState, { id, total }: Draw): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.welcomed || proxy === null) return false;
  // The proxy has a newer connection, on which it repeats the draw.
  if (proxy.peer === peer) peer.send({ kind: "drawn", id, total });
  return true;
}
