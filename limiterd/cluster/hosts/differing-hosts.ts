/** Finds hosts that are configured differently from this one. Pure. */
import { type HostFacts, hostAliveMs, type KnownHost } from "./host-board.js";

interface HostDifferences {
  /** Its configuration declares different rules or budgets. */
  readonly configuration: boolean;
  readonly failureMode: boolean;
}

export function differencesOf(host: HostFacts, thisHost: HostFacts): HostDifferences {
  return {
    configuration: host.configuration !== thisHost.configuration,
    failureMode: host.failureMode !== null && host.failureMode !== thisHost.failureMode,
  };
}

/** A line for each live host that differs: name, id, and what differs. */
export function differingHosts(
  hosts: readonly KnownHost[],
  thisHost: HostFacts,
): readonly string[] {
  return hosts.flatMap((host) => {
    const { configuration, failureMode } = differencesOf(host, thisHost);
    if (host.silentMs >= hostAliveMs || !(configuration || failureMode)) return [];
    const differences = [
      ...(configuration ? ["its configuration declares other rules or budgets"] : []),
      ...(failureMode
        ? [`its cluster.failure_mode is ${host.failureMode}, not ${thisHost.failureMode}`]
        : []),
    ];
    return [`${host.name} (${host.id}): ${differences.join(", ")}`];
  });
}
