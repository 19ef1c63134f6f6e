/**
 * The metrics of the daemon, for GET /metrics/limiter (docs/reference/metrics.md): the counts that
 * `sluice status` shows, and the use of rules and budgets.
 */
import type { DaemonStatus } from "../../shared/api/gateway-status.js";
import { budgetPeriodLabel } from "../../shared/domain/budget.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { cappedMeasures, periodLabel, type RuleDefinition } from "../../shared/domain/rule.js";
import { limiterMetrics } from "../../shared/metrics/limiter-metrics.js";
import type { MetricsAnswer, ReportedSeries } from "../../shared/metrics/metrics-answer.js";
import { amountUsdOf } from "../budgets/judge-budgets.js";
import { capsOf } from "../counters/counter.js";
import type { ManagedKey } from "../keys/key-ring.js";
import { countersOf } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";
import { childSeries } from "./child-metrics.js";
import { liveCounts } from "./list-rules.js";
import { heldUsd, money } from "./spend/budget-money.js";

type Name = keyof typeof limiterMetrics;

interface Question {
  readonly status: DaemonStatus;
  /** The most rules, and the most budgets, that have their own metrics. */
  readonly rulesMax: number;
  readonly nowMs: number;
}

export async function reportMetrics(
  state: DaemonState,
  { status, rulesMax, nowMs }: Question,
): Promise<MetricsAnswer> {
  const rules = ruleSeries(state, rulesMax, nowMs);
  const budgets = budgetSeries(state, rulesMax, nowMs);
  const leftOut = rules.leftOut + budgets.leftOut;
  return {
    series: [
      ...statusSeries(state, status, nowMs),
      ...clusterSeries(state, status),
      ...followersSeries(state, status, nowMs),
      ...alertSeries(state),
      ...(await processSeries(state)),
      ...rules.series,
      ...budgets.series,
      ...(rulesMax === 0 ? [] : await childSeries(state, nowMs)),
      ...upstreamSeries(state, rulesMax, nowMs),
      seriesOf("rulesLeftOut", [], leftOut),
    ],
  };
}

function seriesOf(name: Name, labels: readonly string[], value: number): ReportedSeries {
  return seriesWith(name, labels, [value]);
}

/** The series of a histogram or a summary. */
function seriesWith(
  name: Name,
  labels: readonly string[],
  values: readonly number[],
): ReportedSeries {
  return [limiterMetrics[name].name, labels, values];
}

function statusSeries(
  { counts, keys, lastBackup, measures, startedAtMs, lastSnapshotAtMs, waiters }: DaemonState,
  status: DaemonStatus,
  nowMs: number,
): ReportedSeries[] {
  const { admitted, refused, over_budget: overBudget, denied, store } = status;
  return [
    seriesOf("admissions", ["admitted"], admitted),
    seriesOf("admissions", ["refused"], refused - overBudget),
    seriesOf("admissions", ["over_budget"], overBudget),
    seriesOf("admissions", ["denied"], denied),
    ...Object.entries(counts.settledParts).map(([part, number]) =>
      seriesOf("settles", [part], number),
    ),
    seriesOf("repeatedSettles", [], status.repeated_settles),
    seriesOf("inFlight", [], status.in_flight),
    seriesOf("waiting", [], waiters.size),
    seriesOf("waited", [], waiters.waited),
    seriesOf("proxies", [], status.proxies),
    seriesOf("rules", [], status.rules),
    seriesOf("budgets", [], status.budgets),
    seriesOf("children", [], status.child_windows),
    seriesOf("keys", [], status.keys),
    ...nextExpirySeries(keys.all(), nowMs),
    seriesOf("inert", ["rule"], status.inert_rules),
    seriesOf("inert", ["budget"], status.inert_budgets),
    seriesWith("commit", [], [...measures.commits.values]),
    seriesOf("failedCommits", [], store.failed_commits),
    ...(store.bytes === null ? [] : [seriesOf("storeBytes", [], store.bytes)]),
    seriesOf("journalBytes", [], store.journal_bytes),
    seriesOf("snapshotAge", [], Math.max(0, nowMs - (lastSnapshotAtMs ?? startedAtMs)) / 1000),
    seriesOf("backupsSince", [], lastBackup.sinceMs / 1000),
    ...(lastBackup.atMs === null ? [] : [seriesOf("lastBackup", [], lastBackup.atMs / 1000)]),
    seriesOf("droppedRecords", [], status.dropped_records),
    seriesOf("pendingResponses", [], status.pending_responses),
    seriesOf("pendingResponsesLeftOut", [], status.pending_responses_left_out),
    ...hostsSeries(status),
    seriesOf("build", [status.version], 1),
  ];
}

/** Nothing if no key expires. */
function nextExpirySeries(keys: readonly ManagedKey[], nowMs: number): ReportedSeries[] {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const { expiresAtMs, deactivatedAtMs, deletedAtMs } of keys) {
    if (expiresAtMs === null || deactivatedAtMs !== null || deletedAtMs !== null) continue;
    if (expiresAtMs > nowMs && expiresAtMs < nextMs) nextMs = expiresAtMs;
  }
  return nextMs === Number.POSITIVE_INFINITY ? [] : [seriesOf("nextKeyExpiry", [], nextMs / 1000)];
}

/** Nothing without a cluster. */
function clusterSeries(
  { shares, clusterFailing }: DaemonState,
  { cluster }: DaemonStatus,
): ReportedSeries[] {
  if (shares === null) return [];
  const { counts, turn, size } = shares;
  const isReached = cluster === null || cluster.engine === "connected";
  return [
    seriesOf("engineUp", [], isReached && !turn.isAway ? 1 : 0),
    seriesOf("engineFailing", [], clusterFailing === null ? 0 : 1),
    seriesWith("clusterSync", [], [...counts.syncs.values]),
    seriesOf("clusterQuestions", [], counts.questions),
    seriesOf("clusterGranted", [], counts.granted),
    seriesOf("clusterParked", [], counts.parked),
    seriesOf("clusterRefused", ["engine_away"], counts.refusedAway),
    seriesOf("clusterRefused", ["too_many_wait"], counts.refusedFull),
    seriesOf("clusterShares", [], size),
  ];
}

/** Nothing without a cluster. */
function hostsSeries({ cluster }: DaemonStatus): ReportedSeries[] {
  if (cluster === null) return [];
  const living = cluster.hosts.filter((host) => host.alive);
  const alive = living.length;
  const differing = (field: "configuration_differs" | "failure_mode_differs"): number =>
    living.filter((host) => host[field]).length;
  const { id_taken_at: takenAt, changes_subscribers: subscribers } = cluster;
  return [
    seriesOf("clusterChangesHeard", [], cluster.changes_heard ? 1 : 0),
    ...(subscribers === null ? [] : [seriesOf("clusterChangesSubscribers", [], subscribers)]),
    seriesOf("clusterHosts", ["alive"], alive),
    seriesOf("clusterHosts", ["away"], cluster.hosts.length - alive),
    seriesOf("clusterDiffering", ["configuration"], differing("configuration_differs")),
    seriesOf("clusterDiffering", ["failure_mode"], differing("failure_mode_differs")),
    ...(takenAt === null ? [] : [seriesOf("clusterIdTaken", [], Date.parse(takenAt) / 1000)]),
  ];
}

function followersSeries(
  { followers }: DaemonState,
  status: DaemonStatus,
  nowMs: number,
): ReportedSeries[] {
  const sinceAsked = followers
    .all()
    .map(({ name, askedAtMs }) =>
      seriesOf("followerAsked", [name], Math.max(0, nowMs - askedAtMs) / 1000),
    );
  return [
    ...status.followers.flatMap(({ name, lag_seconds: lag }) =>
      lag === null ? [] : [seriesOf("followerLag", [name], lag)],
    ),
    ...sinceAsked,
  ];
}

/** Nothing without alerts. */
function alertSeries({ alerts }: DaemonState): ReportedSeries[] {
  if (!alerts.isUsed) return [];
  const { delivered, failed, dropped } = alerts.counts;
  return [
    seriesOf("alertsWaiting", [], alerts.size),
    seriesOf("alerts", ["delivered"], delivered),
    seriesOf("alerts", ["failed"], failed),
    seriesOf("alerts", ["dropped"], dropped),
  ];
}

/** Nothing before a provider's first report. */
function upstreamSeries(
  { upstream }: DaemonState,
  targetsMax: number,
  nowMs: number,
): ReportedSeries[] {
  return upstream
    .list(nowMs)
    .upstream_limits.slice(0, targetsMax)
    .flatMap(({ provider, model, mode, limits, saturated, refusals, adaptive }) => {
      const labels = [provider, model];
      const series = limits.flatMap(({ name, limit, remaining }) => [
        ...(limit === null ? [] : [seriesOf("upstreamLimit", [...labels, name], limit)]),
        ...(remaining === null
          ? []
          : [seriesOf("upstreamRemaining", [...labels, name], remaining)]),
      ]);
      series.push(seriesOf("upstreamRefusals", labels, refusals));
      if (mode === "avoid") series.push(seriesOf("upstreamSaturated", labels, Number(saturated)));
      if (adaptive !== null) series.push(seriesOf("adaptiveConcurrency", labels, adaptive.cap));
      return series;
    });
}

async function processSeries({ measures }: DaemonState): Promise<ReportedSeries[]> {
  const reading = await measures.readProcess();
  if (reading === null) return [];
  return [
    seriesWith("loopLag", [], reading.loopLag),
    seriesOf("residentMemory", [], reading.residentBytes),
    seriesOf("cpu", [], reading.cpuSeconds),
  ];
}

interface LimitSeries {
  readonly series: readonly ReportedSeries[];
  readonly leftOut: number;
}

/**
 * The metrics of rules, in the order of lists. Templates are left out: they have no counter of
 * their own.
 */
function ruleSeries({ book }: DaemonState, max: number, nowMs: number): LimitSeries {
  // After a start, rules are loaded in slices; `sorted` would load all of them in one turn.
  if (!book.ruleSet.isRead) return { series: [], leftOut: book.ruleSet.size };
  const series: ReportedSeries[] = [];
  let rules = 0;
  for (const rule of book.sorted()) {
    // Skip the rules beyond the maximum: reading `own` would create their counters.
    const { wouldRefuse } = rule;
    if ((rule.definition.perChild && wouldRefuse === null) || rules++ >= max) continue;
    if (wouldRefuse !== null) {
      series.push(seriesOf("wouldRefuse", labelsOf(rule.definition), wouldRefuse.count));
      continue;
    }
    const { definition, own } = book.fresh(rule);
    const { periodSeconds } = definition;
    const { maxRequests, maxTokens, measureCaps } = capsOf(own!, nowMs);
    const names = labelsOf(definition);
    const counts = liveCounts(countersOf(own!), nowMs);
    const add = (dimension: string, used: number, limit: number | null): void => {
      if (limit === null) return;
      const labels = [...names, dimension];
      series.push(seriesOf("ruleUsed", labels, used), seriesOf("ruleLimit", labels, limit));
    };
    add(periodSeconds === 0 ? "concurrent" : "requests", counts.requests_used, maxRequests);
    add("tokens", counts.tokens_used, maxTokens);
    for (const measure of cappedMeasures)
      add(measure, counts[`${measure}_used`] ?? 0, measureCaps?.[measure] ?? null);
    series.push(seriesOf("ruleInFlight", names, counts.in_flight));
  }
  return { series, leftOut: Math.max(0, rules - max) };
}

function labelsOf(definition: RuleDefinition): readonly string[] {
  const { scope, periodSeconds } = definition;
  return [scope, subjectWithModels({ ...definition, mode: undefined }), periodLabel(periodSeconds)];
}

function budgetSeries(state: DaemonState, max: number, nowMs: number): LimitSeries {
  const series: ReportedSeries[] = [];
  let budgets = 0;
  for (const { definition, own } of state.budgets.sorted()) {
    if (own === null || budgets++ >= max) continue;
    const { scope, periodSeconds, rolling } = definition;
    const names = [scope, subjectWithModels(definition), budgetPeriodLabel(periodSeconds, rolling)];
    const { endMs } = state.budgets.boundsOf(own.budget, nowMs);
    series.push(seriesOf("budgetSpent", names, money(state, own, nowMs).spent));
    if (definition.hold !== undefined) series.push(seriesOf("budgetHeld", names, heldUsd(own)));
    series.push(seriesOf("budgetAmount", names, amountUsdOf(state.budgets, own, nowMs)));
    if (rolling !== true) series.push(seriesOf("budgetPeriodEnd", names, endMs / 1000));
  }
  return { series, leftOut: Math.max(0, budgets - max) };
}
