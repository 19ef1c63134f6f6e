/** What the status says of the hosts that share something, and of their engine. */
import type { ClusterHost, ClusterStatus } from "../../shared/api/gateway-status.js";
import { formatSeconds } from "../../shared/time.js";
import type { ClusterMember } from "../cluster/hosts/cluster-member.js";
import { differencesOf } from "../cluster/hosts/differing-hosts.js";
import { hostAliveMs } from "../cluster/hosts/host-board.js";
import type { DaemonState } from "../state.js";

export function clusterStatus(
  { sharedDefinitions, clusterFailing }: Pick<DaemonState, "sharedDefinitions" | "clusterFailing">,
  { name, failureMode, board, engineState, reception }: ClusterMember,
  nowMs: number,
): ClusterStatus {
  const engine = engineState();
  const { isConfirmed, subscribers } = reception();
  const { takenAtMs } = board.identity;
  return {
    name,
    host: board.identity.id,
    engine: engine.kind,
    engine_failing: clusterFailing,
    changes_heard: isConfirmed,
    changes_subscribers: subscribers,
    failure_mode: failureMode,
    id_taken_at: takenAtMs === null ? null : formatSeconds(takenAtMs),
    definitions_version: sharedDefinitions?.state.order ?? 0,
    hosts: board.hosts.map((host): ClusterHost => {
      const { id, name, version, startedAtMs, silentMs } = host;
      const differs = differencesOf(host, board.facts);
      return {
        id,
        name,
        this_host: id === board.identity.id,
        alive: silentMs < hostAliveMs,
        version,
        uptime_seconds: Math.max(0, Math.round((nowMs - startedAtMs) / 1000)),
        silent_seconds: Math.max(0, Math.round(silentMs / 1000)),
        configuration_differs: differs.configuration,
        failure_mode: host.failureMode,
        failure_mode_differs: differs.failureMode,
      };
    }),
  };
}
