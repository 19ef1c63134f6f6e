/** The daemon's status, for `sluice status` and /health, and the inert limits. */
import type {
  ClusterHost,
  ClusterStatus,
  DaemonStatus,
} from "../../../shared/api/gateway-status.js";
import {
  budgetsInert,
  type Inert,
  type InertReason,
  inertBudget,
  inertRule,
} from "../../../shared/config/inert-rule.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { formatSeconds } from "../../../shared/time.js";
import { openTargetsMax } from "../../../shared/wire/admin-op.js";
import type { ClusterMember } from "../../cluster/hosts/cluster-member.js";
import { differencesOf } from "../../cluster/hosts/differing-hosts.js";
import { hostAliveMs } from "../../cluster/hosts/host-board.js";
import { listFollowers } from "../../lists/follow-records.js";
import type { RuleBook } from "../../rules/rule-book.js";
import type { DaemonState } from "../../state.js";

/** The status as a plain object that messages can carry. */
export function daemonStatus(state: DaemonState, nowMs: number): DaemonStatus {
  const { book, counts, lastBackup, settings, writer } = state;
  let proxies = 0;
  const proxyIds: string[] = [];
  let olderProxies = 0;
  let inFlight = 0;
  const openTargets = new Set<string>();
  for (const peer of state.peers) {
    if (peer.role === "proxy" && proxies++ < proxiesNamedMax)
      proxyIds.push(peer.proxy?.id ?? "unknown");
    if (peer.role === "proxy" && peer.wireVersion < settings.wireVersions.newest) olderProxies++;
    for (const target of peer.openTargets) openTargets.add(target);
    for (const { submission } of peer.leases.values()) if (!submission) inFlight++;
  }
  return {
    version: settings.version,
    pid: settings.pid,
    uptime_seconds: Math.max(0, Math.round((nowMs - state.startedAtMs) / 1000)),
    enabled: settings.rateLimitsEnabled,
    usage_enabled: settings.usageEnabled,
    rules: book.ruleSet.size,
    child_windows: book.childCount,
    inert_rules: state.inertRules.size,
    inert_budgets: countInertBudgets(state),
    inert: listInert(state).map(({ kind, name }) => (kind === "rule" ? name : `budget ${name}`)),
    keys: state.keys.size - state.keys.deletedCount,
    budgets_enabled: settings.budgetsEnabled && settings.usageEnabled,
    budgets: state.budgets.budgets.size,
    proxies,
    proxy_ids: proxyIds.sort(),
    older_proxies: olderProxies,
    open_targets: [...openTargets].slice(0, openTargetsMax),
    in_flight: inFlight,
    admitted: counts.admitted,
    refused: counts.refused,
    denied: counts.denied,
    over_budget: counts.overBudget,
    settled: Object.values(counts.settledParts).reduce((sum, count) => sum + count, 0),
    tokens: counts.tokens,
    cost: sumUsd(counts.cost),
    repeated_settles: counts.repeatedSettles,
    dropped_records: counts.droppedRecords,
    pending_responses: state.pending.size,
    pending_responses_left_out: state.pending.leftOut,
    saturated_sums: state.usage.rollups.saturations,
    closed_peers: counts.closedPeers,
    cluster: state.cluster === null ? null : clusterStatus(state, state.cluster, nowMs),
    followers: listFollowers(state, nowMs),
    store: {
      file: state.store.file,
      bytes: state.store.sizeBytes(),
      used_bytes: state.store.usedBytes(),
      journal_bytes: writer.journalBytes,
      last_flush_at: state.lastSnapshotAtMs === null ? null : formatSeconds(state.lastSnapshotAtMs),
      last_backup_at: lastBackup.atMs === null ? null : formatSeconds(lastBackup.atMs),
      backups_noted_since: formatSeconds(lastBackup.sinceMs),
      has_usage: state.usage.lastKey > 0,
      failed_commits: counts.failedCommits,
      unjournaled: writer.unjournaled,
      failing: writer.failing?.message ?? null,
    },
  };
}

const inertNamedMax = 100;
const proxiesNamedMax = 100;

/** The inert rules and budgets, at most 100 of each, each with the reason. */
export function listInert({ book, budgets, inertRules, settings }: DaemonState): readonly Inert[] {
  const rules: Inert[] = [];
  for (const id of inertRules) {
    const { definition } = book.ruleSet.get(id)!;
    if (rules.push(inertRule(definition, settings.inertReason(definition)!)) === inertNamedMax)
      break;
  }
  const reason = budgetsInert(settings.usageEnabled);
  if (reason === null) return rules;
  return [
    ...rules,
    ...budgets
      .sorted()
      .slice(0, inertNamedMax)
      .map(({ definition }) => inertBudget(definition, reason)),
  ];
}

/** The number of inert budgets: either all budgets are inert, or none. */
export function countInertBudgets({
  budgets,
  settings,
}: Pick<DaemonState, "budgets" | "settings">): number {
  return budgetsInert(settings.usageEnabled) === null ? 0 : budgets.budgets.size;
}

/** The ids of the inert rules of a book. */
export function findInertRules(book: RuleBook, inertReason: InertReason): Set<string> {
  const inert = new Set<string>();
  for (const { id, definition } of book.rules.values())
    if (inertReason(definition) !== null) inert.add(id);
  return inert;
}

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
