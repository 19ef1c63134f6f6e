/** What the status says of counters that are shared, and of the engine that counts them. */
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import type { ShareSync } from "./share-sync.js";

interface ClusterState {
  readonly engine: "connected" | "away";
  /** Why it doesn't answer. */
  readonly reason: string | null;
  readonly failure_mode: ClusterFailureMode;
  /** The engine has lost data, and hosts tell it again what they have used. */
  readonly settling: boolean;
  readonly hosts: number;
  readonly shares: number;
  readonly parked: number;
  readonly operations: number;
  readonly granted: number;
  readonly refused_away: number;
}

/** Plain values. */
export function clusterState({ turn, counts, awayFor, size, parked }: ShareSync): ClusterState {
  return {
    engine: turn.away ? "away" : "connected",
    reason: awayFor?.message ?? null,
    failure_mode: turn.failureMode,
    settling: turn.settling,
    hosts: turn.hosts,
    shares: size,
    parked,
    operations: counts.questions,
    granted: counts.granted,
    refused_away: counts.refusedAway,
  };
}
