/**
 * One connection to the daemon: cuts frames from its bytes and handles them, and closes it when it
 * breaks the grammar or sends no hello in time. What a frame does is in `handle-message.ts`, what
 * the end of a connection does in `free-slots-of-lost-peer.ts`; the sockets are in
 * `open-sockets.ts`.
 */
import { commandIdleMs, helloDeadlineMs } from "../../shared/bounds.js";
import { IdMap } from "../../shared/id-map.js";
import { OneAtATime } from "../../shared/one-at-a-time.js";
import type { FrameReader } from "../../shared/wire/codec.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import { handleFrame } from "./handle-message.js";

/** Adds a new connection; its hello will name its role and its proxy. */
export function connect(
  state: DaemonState,
  ports: Pick<PeerState, "mayAdminister" | "send" | "sendBulk" | "close">,
  nowMs: number,
): PeerState {
  const peer: PeerState = {
    ...ports,
    connectedAtMs: nowMs,
    askedAtMs: nowMs,
    role: null,
    wireVersion: 0,
    proxy: null,
    isWelcomed: false,
    connection: 0,
    granted: 0,
    parked: new Set(),
    helloId: 0,
    openTargets: [],
    reads: new OneAtATime(),
    leases: new IdMap(),
  };
  state.peers.add(peer);
  return peer;
}

/** A peer and the reader that cuts its bytes into frames. */
export interface Connection {
  readonly peer: PeerState;
  readonly reader: FrameReader;
}

/** Handles every complete frame. The clock is read once for all bytes that arrived together. */
export function receive(
  state: DaemonState,
  { peer, reader }: Connection,
  bytes: Buffer,
  nowMs: number,
): void {
  // A stopping daemon ignores frames: it could write counts whose verdict never arrives. The peers
  // repeat them to the next daemon.
  if (state.isStopping) return;
  let valid = true;
  const framed = reader.feed(bytes, (frame) => {
    valid &&= handleFrame(state, peer, frame, nowMs);
  });
  if (!framed || !valid) closePeer(state, peer);
}

/** Closes peers without a timely hello, and command lines that have become idle. */
export function closeTimedOutPeers(state: DaemonState, nowMs: number): void {
  for (const peer of state.peers) {
    if (peer.role === null && nowMs - peer.connectedAtMs >= helloDeadlineMs) closePeer(state, peer);
    else if (peer.role === "cli" && nowMs - peer.askedAtMs >= commandIdleMs) peer.close();
  }
}

function closePeer(state: DaemonState, peer: PeerState): void {
  state.counts.closedPeers++;
  peer.close();
}
