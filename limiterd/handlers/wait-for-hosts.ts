/**
 * Requests whose verdict needs fresh counts of other hosts: they wait for the engine's answer and
 * are judged again. They hold no slots meanwhile, and a request whose peer disconnects is dropped.
 */
import { failure } from "../../shared/error-code.js";
import type { PeerState } from "../peer.js";
import type { ClusterTurn } from "../shares/cluster-turn.js";
import type { ShareSync } from "../shares/sync/share-sync.js";
import type { DaemonState } from "../state.js";

/** Begins a judgement. `mustDecide`: the request can't wait for other hosts, or not again. */
export function beginTurn(shares: Pick<ShareSync, "turn">, mustDecide: boolean): ClusterTurn {
  shares.turn.begin(mustDecide || shares.turn.isAway ? "decide" : "ask");
  return shares.turn;
}

/**
 * Parks a request that couldn't be judged: `judgeAgain` runs when the engine has answered, or when
 * the wait times out. If the request can't wait, it fails.
 */
export function waitForHosts(
  state: DaemonState,
  peer: PeerState,
  id: number,
  judgeAgain: (nowMs: number, mustDecide: boolean) => void,
): void {
  const { shares } = state;
  if (shares === null) return;
  const { willTimeOut } = shares.turn;
  shares.turn.end();
  if (willTimeOut) {
    shares.refusedAway();
    peer.send({ kind: "failed", id, failure: failure("cluster_unavailable", engineAway) });
    return;
  }
  peer.parked.add(id);
  const isParked = shares.park((mustDecide) => {
    peer.parked.delete(id);
    if (state.isStopping || !state.peers.has(peer)) return;
    judgeAgain(shares.nowMs(), mustDecide);
    state.book.reclaim();
  });
  if (isParked) return;
  peer.parked.delete(id);
  peer.send({ kind: "failed", id, failure: failure("overloaded", tooManyWait) });
}

const engineAway =
  "the engine that counts for all hosts can't be asked, and cluster.failure_mode is closed";
const tooManyWait = "too many requests wait for the engine that counts for all hosts";
