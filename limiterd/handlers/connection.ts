/**
 * One connection to the daemon, from its first byte to its end: frames are cut from its bytes and
 * handled; it is closed when it breaks the grammar or never says hello; and when it has ended, all
 * that it held is released. What a frame does is in `handle-message.ts`; the socket is `main.ts`'s.
 */
import { commandIdleMs, helloDeadlineMs } from "../../shared/bounds.js";
import { IdMap } from "../../shared/id-map.js";
import { OneAtATime } from "../../shared/one-at-a-time.js";
import type { FrameReader } from "../../shared/wire/codec.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import { handleFrame } from "./handle-message.js";
import { releaseAllLeases } from "./release-slots.js";

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
    welcomed: false,
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

/** A peer with what cuts its bytes into frames. */
export interface Connection {
  readonly peer: PeerState;
  readonly reader: FrameReader;
}

/**
 * Handles every frame that is complete, all at one time: the clock is read once for all that
 * arrived together.
 */
export function receive(
  state: DaemonState,
  { peer, reader }: Connection,
  bytes: Buffer,
  nowMs: number,
): void {
  // What a stopping daemon still counted might be on disk while its verdict doesn't arrive: all is
  // left to the next daemon, to which it is sent again.
  if (state.stopping) return;
  let valid = true;
  const framed = reader.feed(bytes, (frame) => {
    valid &&= handleFrame(state, peer, frame, nowMs);
  });
  if (!framed || !valid) closePeer(state, peer);
}

/** A connection has ended, however it ended: its slots are free at once. */
export function disconnect(state: DaemonState, peer: PeerState, nowMs: number): void {
  state.peers.delete(peer);
  state.backups.ended(peer);
  releaseAllLeases(peer);
  state.book.reclaim();
  if (peer.proxy !== null) {
    if (peer.proxy.peer === peer) peer.proxy.peer = null;
    peer.proxy.seenAtMs = nowMs;
    state.proxies.markDirty(peer.proxy);
  }
}

/** Closes those that haven't said hello in time, and command lines that ask for nothing more. */
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
