/**
 * One connection to the daemon: from its bytes to its frames, and its end when it breaks the
 * grammar or never says hello. What a frame does is in `handle-message.ts`; the socket is the
 * wiring's.
 */
import { helloDeadlineMs } from "../../shared/bounds.js";
import { IdMap } from "../../shared/id-map.js";
import type { FrameReader } from "../../shared/wire/codec.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import { handleFrame } from "./handle-message.js";

/** Takes a new connection in; it is nobody yet. */
export function connect(
  state: DaemonState,
  ports: Pick<PeerState, "send" | "close">,
  nowMs: number,
): PeerState {
  const peer: PeerState = {
    ...ports,
    connectedAtMs: nowMs,
    role: null,
    proxy: null,
    welcomed: false,
    helloId: 0,
    leases: new IdMap(),
  };
  state.peers.add(peer);
  return peer;
}

/**
 * Handles every frame that is now whole, all at one time: time is read once for all that arrived
 * together.
 */
export function receive(
  state: DaemonState,
  peer: PeerState,
  reader: FrameReader,
  bytes: Buffer,
  nowMs: number,
): void {
  // What a stopping daemon still counted might be on disk and its verdict not arrive: all is left
  // to the next one, to whom it is said again.
  if (state.stopping) return;
  let valid = true;
  const framed = reader.feed(bytes, (frame) => {
    valid &&= handleFrame(state, peer, frame, nowMs);
  });
  if (!framed || !valid) closePeer(state, peer);
}

/** Closes those that connected and never said who they are. */
export function closeTimedOutPeers(state: DaemonState, nowMs: number): void {
  for (const peer of state.peers)
    if (peer.role === null && nowMs - peer.connectedAtMs >= helloDeadlineMs) closePeer(state, peer);
}

function closePeer(state: DaemonState, peer: PeerState): void {
  state.counts.closedPeers++;
  peer.close();
}
