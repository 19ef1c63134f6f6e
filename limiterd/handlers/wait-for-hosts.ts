/**
 * Requests whose verdict needs to know what other hosts have left of a counter: they wait until the
 * engine of the cluster has said so, and are judged again. Nothing is held meanwhile, and who has
 * left is forgotten.
 */
import { failure } from "../../shared/error-code.js";
import type { PeerState } from "../peer.js";
import type { ClusterTurn } from "../shares/cluster-turn.js";
import type { DaemonState } from "../state.js";

/** Begins to judge a request; null without a cluster. `final`: it has waited, and can't again. */
export function beginTurn({ shares }: DaemonState, final: boolean): ClusterTurn | null {
  if (shares === null) return null;
  shares.turn.begin(final || shares.turn.away ? "decide" : "ask");
  return shares.turn;
}

/**
 * After a judgement that couldn't be made: `again` runs when the engine has answered, or won't. The
 * request is refused if it can't wait.
 */
export function waitForHosts(
  state: DaemonState,
  peer: PeerState,
  id: number,
  again: (nowMs: number, final: boolean) => void,
): void {
  const { shares } = state;
  if (shares === null) return;
  const { willTimeOut } = shares.turn;
  shares.turn.end();
  if (willTimeOut) {
    shares.refusedAway();
    peer.send({ kind: "failed", id, failure: failure("cluster_unavailable", awayMessage) });
    return;
  }
  peer.parked.add(id);
  const parked = shares.park((final) => {
    peer.parked.delete(id);
    if (state.stopping || !state.peers.has(peer)) return;
    again(shares.nowMs(), final);
    state.book.reclaim();
  });
  if (parked) return;
  peer.parked.delete(id);
  peer.send({ kind: "failed", id, failure: failure("overloaded", tooManyWait) });
}

const awayMessage =
  "the engine that counts for all hosts can't be asked, and cluster.failure_mode is closed";
const tooManyWait = "too many requests wait for the engine that counts for all hosts";
