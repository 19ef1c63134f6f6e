/** What `sluice status` and /health show of the daemon. */
import { formatSeconds } from "../shared/time.js";
import { periodLabel } from "../shared/rule.js";
import { inertReason } from "./list-rules.js";
import type { DaemonState } from "./state.js";

/** A plain object, ready for the wire. */
export function daemonStatus(state: DaemonState, nowMs: number): Record<string, unknown> {
  const { book, counts, settings, writer } = state;
  let proxies = 0;
  let leases = 0;
  for (const peer of state.peers) {
    if (peer.role === "proxy") proxies++;
    leases += peer.leases.size;
  }
  return {
    version: settings.version,
    pid: settings.pid,
    uptime_seconds: Math.max(0, Math.round((nowMs - state.startedAtMs) / 1000)),
    enabled: settings.rateLimitsEnabled,
    usage_enabled: settings.usageEnabled,
    rules: book.rules.size,
    inert: inertRules(state),
    proxies,
    in_flight: leases,
    admitted: counts.admitted,
    refused: counts.refused,
    settled: counts.settled,
    repeated_settles: counts.repeatedSettles,
    closed_peers: counts.closedPeers,
    store: {
      file: state.store.file,
      bytes: state.store.sizeBytes(),
      journal_bytes: writer.journalBytes,
      last_flush_at: state.lastSnapshotAtMs === null ? null : formatSeconds(state.lastSnapshotAtMs),
      failed_commits: counts.failedCommits,
      unjournaled: writer.unjournaled,
      failing: writer.failing?.message ?? null,
    },
  };
}

/** Names of the rules that are loaded but can't be enforced, at most 100. */
export function inertRules(state: DaemonState): string[] {
  const names: string[] = [];
  for (const rule of state.book.rules.values()) {
    const reason = inertReason(rule, state.settings.usageEnabled);
    if (reason === null) continue;
    names.push(`${rule.definition.scope} ${rule.definition.subject} ${periodLabel(rule.definition.periodSeconds)}: ${reason}`);
    if (names.length === 100) break;
  }
  return names;
}
