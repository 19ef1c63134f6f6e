/** Finds hosts that are configured differently from this one. Pure. */
import { type HostFacts, hostAliveMs, type KnownHost } from "./host-board.js";

interface HostDifferences {
  /** Its configuration declares different rules or budgets. */
  readonly configuration: boolean;
  readonly failureMode: boolean;
}

export function differencesOf(host: HostFacts, own: HostFacts): HostDifferences {
  return {
    configuration: host.configuration !== own.configuration,
    failureMode: host.failureMode !== null && host.failureMode !== own.failureMode,
  };
}

/** A line for each live host that differs: name, id, and what differs. */
export function differingHosts(hosts: readonly KnownHost[], own: HostFacts): readonly string[] {
  return hosts.flatMap((host) => {
    const { configuration, failureMode } = differencesOf(host, own);
    if (host.silentMs >= hostAliveMs || !(configuration || failureMode)) return [];
    const differences = [
      ...(configuration ? ["its configuration declares other rules or budgets"] : []),
      ...(failureMode
        ? [`its cluster.failure_mode is ${host.failureMode}, not ${own.failureMode}`]
        : []),
    ];
    return [`${host.name} (${host.id}): ${differences.join(", ")}`];
  });
}
