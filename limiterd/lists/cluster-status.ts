/** What the status says of the hosts that share something, and of their engine. */
import type { ClusterHost, ClusterStatus } from "../../shared/api/gateway-status.js";
import type { ClusterMember } from "../cluster/hosts/cluster-member.js";
import { hostAliveMs } from "../cluster/hosts/host-board.js";
import type { DaemonState } from "../state.js";

export function clusterStatus(
  { sharedDefinitions }: Pick<DaemonState, "sharedDefinitions">,
  { name, failureMode, board, engineState }: ClusterMember,
  nowMs: number,
): ClusterStatus {
  const engine = engineState();
  return {
    name,
    host: board.identity.id,
    engine: engine.kind,
    engine_failing: engine.kind === "away" ? engine.reason : null,
    failure_mode: failureMode,
    definitions_version: sharedDefinitions?.state.order ?? 0,
    hosts: board.hosts.map(
      ({ id, name, version, configuration, startedAtMs, silentMs }): ClusterHost => ({
        id,
        name,
        this_host: id === board.identity.id,
        alive: silentMs < hostAliveMs,
        version,
        uptime_seconds: Math.max(0, Math.round((nowMs - startedAtMs) / 1000)),
        silent_seconds: Math.max(0, Math.round(silentMs / 1000)),
        configuration_differs: configuration !== board.facts.configuration,
      }),
    ),
  };
}
