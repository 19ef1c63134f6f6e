/** What `sluice status` and /health show of the daemon. */
import { formatSeconds } from "../shared/time.js";
import { type InertReason, inertRuleName } from "./inert-rule.js";
import type { RuleBook } from "./rule-book.js";
import type { DaemonState } from "./state.js";

/** A plain object, ready for the wire. */
export function daemonStatus(state: DaemonState, nowMs: number): Record<string, unknown> {
  const { book, counts, settings, writer } = state;
  let proxies = 0;
  let inFlight = 0;
  for (const peer of state.peers) {
    if (peer.role === "proxy") proxies++;
    for (const { submission } of peer.leases.values()) if (!submission) inFlight++;
  }
  return {
    version: settings.version,
    pid: settings.pid,
    uptime_seconds: Math.max(0, Math.round((nowMs - state.startedAtMs) / 1000)),
    enabled: settings.rateLimitsEnabled,
    usage_enabled: settings.usageEnabled,
    rules: book.rules.size,
    child_windows: book.childCount,
    inert_rules: state.inertRules,
    inert: inertRules(state),
    keys: state.keys.size,
    budgets_enabled: settings.budgetsEnabled && settings.usageEnabled,
    budgets: state.budgets.budgets.size,
    proxies,
    in_flight: inFlight,
    admitted: counts.admitted,
    refused: counts.refused,
    denied: counts.denied,
    over_budget: counts.overBudget,
    settled: counts.settled,
    repeated_settles: counts.repeatedSettles,
    dropped_records: counts.droppedRecords,
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

/** The rules that are loaded but do nothing, each with its reason; at most 100. */
export function inertRules(state: DaemonState): string[] {
  const names: string[] = [];
  if (state.inertRules === 0) return names;
  for (const { definition } of state.book.rules.values()) {
    const reason = state.settings.inertReason(definition);
    if (reason === null) continue;
    names.push(inertRuleName(definition, reason));
    if (names.length === 100) break;
  }
  return names;
}

/** How many rules of a book do nothing. */
export function countInert(book: RuleBook, inertReason: InertReason): number {
  let inert = 0;
  for (const { definition } of book.rules.values()) if (inertReason(definition) !== null) inert++;
  return inert;
}
