/**
 * The metrics of the daemon, for GET /metrics/limiter (docs/reference/metrics.md): the counts that
 * `sluice status` shows, and the use of rules and budgets.
 */
import type { DaemonStatus } from "../../shared/api/gateway-status.js";
import { budgetPeriodLabel } from "../../shared/domain/budget.js";
import { periodLabel } from "../../shared/domain/rule.js";
import { limiterMetrics } from "../../shared/metrics/limiter-metrics.js";
import type { MetricsAnswer, ToldSeries } from "../../shared/metrics/metrics-answer.js";
import type { ManagedKey } from "../keys/key-ring.js";
import type { DaemonState } from "../state.js";
import { liveCounts } from "./list-rules.js";
import { money } from "./spend/budget-money.js";

type Name = keyof typeof limiterMetrics;

interface Question {
  readonly status: DaemonStatus;
  /** Maximum number of rules, and of budgets, with metrics of their own. */
  readonly rulesMax: number;
  readonly nowMs: number;
}

export async function tellMetrics(
  state: DaemonState,
  { status, rulesMax, nowMs }: Question,
): Promise<MetricsAnswer> {
  const rules = tellRules(state, rulesMax, nowMs);
  const budgets = tellBudgets(state, rulesMax, nowMs);
  const leftOut = rules.leftOut + budgets.leftOut;
  return {
    series: [
      ...tellStatus(state, status, nowMs),
      ...tellCluster(state, status),
      ...tellFollowers(state, status, nowMs),
      ...(await tellProcess(state)),
      ...rules.series,
      ...budgets.series,
      told("rulesLeftOut", [], leftOut),
    ],
  };
}

function told(name: Name, labels: readonly string[], value: number): ToldSeries {
  return toldAll(name, labels, [value]);
}

/** The series of a histogram or a summary. */
function toldAll(name: Name, labels: readonly string[], values: readonly number[]): ToldSeries {
  return [limiterMetrics[name].name, labels, values];
}

function tellStatus(
  { counts, keys, lastBackup, measures, startedAtMs, lastSnapshotAtMs }: DaemonState,
  status: DaemonStatus,
  nowMs: number,
): ToldSeries[] {
  const { admitted, refused, over_budget: overBudget, denied, store } = status;
  return [
    told("admissions", ["admitted"], admitted),
    told("admissions", ["refused"], refused - overBudget),
    told("admissions", ["over_budget"], overBudget),
    told("admissions", ["denied"], denied),
    ...Object.entries(counts.settledParts).map(([part, number]) => told("settles", [part], number)),
    told("repeatedSettles", [], status.repeated_settles),
    told("inFlight", [], status.in_flight),
    told("proxies", [], status.proxies),
    told("rules", [], status.rules),
    told("budgets", [], status.budgets),
    told("children", [], status.child_windows),
    told("keys", [], status.keys),
    ...tellNextExpiry(keys.all(), nowMs),
    told("inert", ["rule"], status.inert_rules),
    told("inert", ["budget"], status.inert_budgets),
    toldAll("commit", [], [...measures.commits.values]),
    told("failedCommits", [], store.failed_commits),
    ...(store.bytes === null ? [] : [told("storeBytes", [], store.bytes)]),
    told("journalBytes", [], store.journal_bytes),
    told("snapshotAge", [], Math.max(0, nowMs - (lastSnapshotAtMs ?? startedAtMs)) / 1000),
    told("backupsSince", [], lastBackup.sinceMs / 1000),
    ...(lastBackup.atMs === null ? [] : [told("lastBackup", [], lastBackup.atMs / 1000)]),
    told("droppedRecords", [], status.dropped_records),
    told("pendingResponses", [], status.pending_responses),
    told("pendingResponsesLeftOut", [], status.pending_responses_left_out),
    ...tellHosts(status),
    told("build", [status.version], 1),
  ];
}

/** Nothing if no key expires. */
function tellNextExpiry(keys: readonly ManagedKey[], nowMs: number): ToldSeries[] {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const { expiresAtMs, deactivatedAtMs, deletedAtMs } of keys) {
    if (expiresAtMs === null || deactivatedAtMs !== null || deletedAtMs !== null) continue;
    if (expiresAtMs > nowMs && expiresAtMs < nextMs) nextMs = expiresAtMs;
  }
  return nextMs === Number.POSITIVE_INFINITY ? [] : [told("nextKeyExpiry", [], nextMs / 1000)];
}

/** Nothing without a cluster. */
function tellCluster(
  { shares, clusterFailing }: DaemonState,
  { cluster }: DaemonStatus,
): ToldSeries[] {
  if (shares === null) return [];
  const { counts, turn, size } = shares;
  const isReached = cluster === null || cluster.engine === "connected";
  return [
    told("engineUp", [], isReached && !turn.away ? 1 : 0),
    told("engineFailing", [], clusterFailing === null ? 0 : 1),
    toldAll("clusterSync", [], [...counts.syncs.values]),
    told("clusterQuestions", [], counts.questions),
    told("clusterGranted", [], counts.granted),
    told("clusterParked", [], counts.parked),
    told("clusterRefused", ["engine_away"], counts.refusedAway),
    told("clusterRefused", ["too_many_wait"], counts.refusedFull),
    told("clusterShares", [], size),
  ];
}

/** Nothing without a cluster. */
function tellHosts({ cluster }: DaemonStatus): ToldSeries[] {
  if (cluster === null) return [];
  const living = cluster.hosts.filter((host) => host.alive);
  const alive = living.length;
  const differing = (what: "configuration_differs" | "failure_mode_differs"): number =>
    living.filter((host) => host[what]).length;
  const { id_taken_at: takenAt, changes_subscribers: subscribers } = cluster;
  return [
    told("clusterChangesHeard", [], cluster.changes_heard ? 1 : 0),
    ...(subscribers === null ? [] : [told("clusterChangesSubscribers", [], subscribers)]),
    told("clusterHosts", ["alive"], alive),
    told("clusterHosts", ["away"], cluster.hosts.length - alive),
    told("clusterDiffering", ["configuration"], differing("configuration_differs")),
    told("clusterDiffering", ["failure_mode"], differing("failure_mode_differs")),
    ...(takenAt === null ? [] : [told("clusterIdTaken", [], Date.parse(takenAt) / 1000)]),
  ];
}

function tellFollowers(
  { followers }: DaemonState,
  status: DaemonStatus,
  nowMs: number,
): ToldSeries[] {
  const silent = followers.all().map(({ name, askedAtMs }) => {
    return told("followerAsked", [name], Math.max(0, nowMs - askedAtMs) / 1000);
  });
  return [
    ...status.followers.flatMap(({ name, lag_seconds: lag }) =>
      lag === null ? [] : [told("followerLag", [name], lag)],
    ),
    ...silent,
  ];
}

async function tellProcess({ measures }: DaemonState): Promise<ToldSeries[]> {
  const reading = await measures.readProcess();
  if (reading === null) return [];
  return [
    toldAll("loopLag", [], reading.loopLag),
    told("residentMemory", [], reading.residentBytes),
    told("cpu", [], reading.cpuSeconds),
  ];
}

interface ToldLimits {
  readonly series: readonly ToldSeries[];
  readonly leftOut: number;
}

/**
 * The metrics of rules, in the order of lists, without templates, which have no counter of their
 * own.
 */
function tellRules({ book }: DaemonState, max: number, nowMs: number): ToldLimits {
  // After a start, rules are loaded in slices; `sorted` would load all of them in one turn.
  if (!book.ruleSet.isRead) return { series: [], leftOut: book.ruleSet.size };
  const series: ToldSeries[] = [];
  let rules = 0;
  for (const listed of book.sorted()) {
    // Skip rules that are left out, because reading `own` would create their counters.
    if (listed.definition.perChild || rules++ >= max) continue;
    const { definition, own } = book.fresh(listed);
    const { scope, subject, periodSeconds, maxRequests, maxTokens } = definition;
    const of = [scope, subject, periodLabel(periodSeconds)];
    const counts = liveCounts(own!, nowMs);
    const tell = (dimension: string, used: number, limit: number | null): void => {
      if (limit === null) return;
      const labels = [...of, dimension];
      series.push(told("ruleUsed", labels, used), told("ruleLimit", labels, limit));
    };
    tell(periodSeconds === 0 ? "concurrent" : "requests", counts.requests_used, maxRequests);
    tell("tokens", counts.tokens_used, maxTokens);
    series.push(told("ruleInFlight", of, counts.in_flight));
  }
  return { series, leftOut: Math.max(0, rules - max) };
}

function tellBudgets(state: DaemonState, max: number, nowMs: number): ToldLimits {
  const series: ToldSeries[] = [];
  let budgets = 0;
  for (const { definition, own } of state.budgets.sorted()) {
    if (own === null || budgets++ >= max) continue;
    const { scope, subject, periodSeconds, amountUsd } = definition;
    const of = [scope, subject, budgetPeriodLabel(periodSeconds)];
    const { endMs } = state.budgets.boundsOf(own.budget, nowMs);
    series.push(told("budgetSpent", of, money(state, own, nowMs).spent));
    series.push(told("budgetAmount", of, amountUsd));
    series.push(told("budgetPeriodEnd", of, endMs / 1000));
  }
  return { series, leftOut: Math.max(0, budgets - max) };
}
