/**
 * The metrics of the limiter daemon, which any proxy of its host serves
 * (docs/reference/metrics.md).
 */
import { metricsOf, shortSeconds } from "./metric.js";

const ruleLabels = ["scope", "subject", "period"];
const childLabels = ["subject", "template", "period"] as const;
const upstreamLabels = ["provider", "model"];
const upstreamLimitLabels = [...upstreamLabels, "limit"];

export const limiterMetrics = metricsOf("limiter", {
  admissions: {
    name: "sluice_limiter_admissions_total",
    kind: "counter",
    labels: ["verdict"],
    help: "Verdicts: admitted, refused (by a rule), over_budget or denied (no valid key).",
  },
  settles: {
    name: "sluice_limiter_settles_total",
    kind: "counter",
    labels: ["of"],
    help: "Counted settles: of a request, a part of one, or a cached answer.",
  },
  repeatedSettles: {
    name: "sluice_limiter_settles_repeated_total",
    kind: "counter",
    help: "Settles that arrived again after a reconnect, and weren't counted twice.",
  },
  inFlight: {
    name: "sluice_limiter_in_flight",
    kind: "gauge",
    help: "Admitted requests of all proxies that aren't settled.",
  },
  waiting: {
    name: "sluice_limiter_waiting",
    kind: "gauge",
    help: "Requests that wait for room under their limits.",
  },
  waited: {
    name: "sluice_limiter_waited_total",
    kind: "counter",
    help: "Requests that have begun to wait for room.",
  },
  proxies: {
    name: "sluice_limiter_proxies",
    kind: "gauge",
    help: "Connected proxies.",
  },
  alertsWaiting: {
    name: "sluice_limiter_alerts_waiting",
    kind: "gauge",
    help: "Alerts that aren't delivered yet. Absent without alerts.",
  },
  alerts: {
    name: "sluice_limiter_alerts_total",
    kind: "counter",
    labels: ["outcome"],
    help: "Alerts: delivered, failed (an attempt) or dropped (undelivered for three days). Absent without alerts.",
  },
  rules: {
    name: "sluice_limiter_rules",
    kind: "gauge",
    help: "Loaded rate limit rules.",
  },
  budgets: {
    name: "sluice_limiter_budgets",
    kind: "gauge",
    help: "Loaded budgets.",
  },
  children: {
    name: "sluice_limiter_children",
    kind: "gauge",
    help: "Windows of children of templates.",
  },
  keys: {
    name: "sluice_limiter_keys",
    kind: "gauge",
    help: "Managed keys that aren't deleted.",
  },
  nextKeyExpiry: {
    name: "sluice_limiter_next_key_expiry_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the next active managed key expires. Absent if none expires.",
  },
  inert: {
    name: "sluice_limiter_inert",
    kind: "gauge",
    labels: ["kind"],
    help: "Rules and budgets that are loaded but not enforced.",
  },
  commit: {
    name: "sluice_limiter_commit_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: shortSeconds,
    help: "Duration of commits to the store.",
  },
  failedCommits: {
    name: "sluice_limiter_commit_failures_total",
    kind: "counter",
    help: "Failed commits to the store; each is tried again.",
  },
  storeBytes: {
    name: "sluice_limiter_store_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Size of the store's file.",
  },
  journalBytes: {
    name: "sluice_limiter_journal_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Estimated size of the journal that no snapshot covers yet.",
  },
  snapshotAge: {
    name: "sluice_limiter_snapshot_age_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "Time since the last complete snapshot, or since the start.",
  },
  lastBackup: {
    name: "sluice_limiter_last_backup_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the last kept backup was made.",
  },
  backupsSince: {
    name: "sluice_limiter_backups_since_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "First start of this store; the daemon has noted its backups since then.",
  },
  loopLag: {
    name: "sluice_limiter_loop_lag_seconds",
    kind: "summary",
    unit: "seconds",
    quantiles: [0.5, 0.9, 0.99, 1],
    help: "Delay of the daemon's event loop turns since the last scrape.",
  },
  engineUp: {
    name: "sluice_cluster_engine_up",
    kind: "gauge",
    help: "Whether the engine answers: 1 or 0. Absent without a cluster.",
  },
  engineFailing: {
    name: "sluice_cluster_engine_failing",
    kind: "gauge",
    help: "Whether something is wrong with the engine, even if it answers: 1 or 0. Absent without a cluster.",
  },
  clusterChangesHeard: {
    name: "sluice_cluster_changes_heard",
    kind: "gauge",
    help: "How changes of other hosts arrive: 1 immediately, 0 by polling each second.",
  },
  clusterChangesSubscribers: {
    name: "sluice_cluster_changes_subscribers",
    kind: "gauge",
    help: "Hosts that subscribe to changes, as the engine reports.",
  },
  clusterHosts: {
    name: "sluice_cluster_hosts",
    kind: "gauge",
    labels: ["state"],
    help: "Hosts of the cluster: alive, or away for less than a day.",
  },
  clusterDiffering: {
    name: "sluice_cluster_hosts_differing",
    kind: "gauge",
    labels: ["in"],
    help: "Living hosts whose rules and budgets, or failure_mode, are configured differently from this host's.",
  },
  clusterIdTaken: {
    name: "sluice_cluster_id_taken_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When this host last replaced its id because another host had the same one. Absent if it never did.",
  },
  clusterSync: {
    name: "sluice_cluster_sync_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: shortSeconds,
    help: "Response time of the engine to a batch of questions about counters.",
  },
  clusterQuestions: {
    name: "sluice_cluster_operations_total",
    kind: "counter",
    help: "Operations on counters that the engine has run.",
  },
  clusterGranted: {
    name: "sluice_cluster_granted_total",
    kind: "counter",
    help: "Requests and slots that the engine has granted to this host.",
  },
  clusterParked: {
    name: "sluice_cluster_parked_total",
    kind: "counter",
    help: "Times that a request waited for the engine.",
  },
  clusterRefused: {
    name: "sluice_cluster_refused_total",
    kind: "counter",
    labels: ["reason"],
    help: "Requests refused without a verdict: the engine was away, or too many requests waited for it.",
  },
  clusterShares: {
    name: "sluice_cluster_shares",
    kind: "gauge",
    help: "Counters that this host shares and has used lately.",
  },
  followerLag: {
    name: "sluice_limiter_follower_lag_seconds",
    kind: "gauge",
    unit: "seconds",
    labels: ["follower"],
    help: "Age of the oldest usage record that a follower hasn't handed on; 0 if it has handed on all.",
  },
  followerAsked: {
    name: "sluice_limiter_follower_silent_seconds",
    kind: "gauge",
    unit: "seconds",
    labels: ["follower"],
    help: "Time since a follower last asked for usage records.",
  },
  droppedRecords: {
    name: "sluice_limiter_dropped_records_total",
    kind: "counter",
    help: "Invalid usage records; their requests were counted without them.",
  },
  pendingResponses: {
    name: "sluice_limiter_pending_responses",
    kind: "gauge",
    help: "Background responses whose usage is still unknown.",
  },
  pendingResponsesLeftOut: {
    name: "sluice_limiter_pending_responses_left_out_total",
    kind: "counter",
    help: "Background responses beyond usage.background_max; their usage stays unknown.",
  },
  residentMemory: {
    name: "sluice_limiter_resident_memory_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Resident memory of the daemon.",
  },
  cpu: {
    name: "sluice_limiter_cpu_seconds_total",
    kind: "counter",
    unit: "seconds",
    help: "User and system CPU time of the daemon.",
  },
  build: {
    name: "sluice_limiter_build_info",
    kind: "gauge",
    labels: ["version"],
    help: "Always 1; the version of the daemon.",
  },
  ruleUsed: {
    name: "sluice_rule_used",
    kind: "gauge",
    labels: [...ruleLabels, "dimension"],
    help: "Use of a rule: requests or tokens in its window, or requests in flight.",
  },
  ruleLimit: {
    name: "sluice_rule_limit",
    kind: "gauge",
    labels: [...ruleLabels, "dimension"],
    help: "Cap of a rule.",
  },
  ruleInFlight: {
    name: "sluice_rule_in_flight",
    kind: "gauge",
    labels: ruleLabels,
    help: "Requests in flight that a rule counts.",
  },
  wouldRefuse: {
    name: "sluice_shadow_rule_would_refuse_total",
    kind: "counter",
    labels: ruleLabels,
    help: "Requests that a shadow rule would have refused since it was made.",
  },
  budgetSpent: {
    name: "sluice_budget_spent_usd",
    kind: "gauge",
    labels: ruleLabels,
    help: "Spend of a budget in its period, in US dollars.",
  },
  budgetHeld: {
    name: "sluice_budget_held_usd",
    kind: "gauge",
    labels: ruleLabels,
    help: "What running requests hold of a budget that is a hard cap, in US dollars.",
  },
  budgetAmount: {
    name: "sluice_budget_amount_usd",
    kind: "gauge",
    labels: ruleLabels,
    help: "Amount of a budget, in US dollars.",
  },
  childRuleUsed: {
    name: "sluice_child_rule_used_ratio",
    kind: "gauge",
    labels: childLabels,
    help: "Used share of a template's rule by one of its children; the 50 fullest alone.",
  },
  childBudgetUsed: {
    name: "sluice_child_budget_used_ratio",
    kind: "gauge",
    labels: childLabels,
    help: "Spent share of a template's budget by one of its children; the 50 fullest alone.",
  },
  childBudgetSpent: {
    name: "sluice_child_budget_spent_usd",
    kind: "gauge",
    labels: childLabels,
    help: "Spend of such a child in the period of the budget, in US dollars.",
  },
  budgetPeriodEnd: {
    name: "sluice_budget_period_end_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    labels: ruleLabels,
    help: "When the period of a budget ends.",
  },
  upstreamLimit: {
    name: "sluice_upstream_limit",
    kind: "gauge",
    labels: upstreamLimitLabels,
    help: "A provider's own limit on a model, as it last reported it.",
  },
  upstreamRemaining: {
    name: "sluice_upstream_remaining",
    kind: "gauge",
    labels: upstreamLimitLabels,
    help: "What is left of a provider's own limit, as it last reported it.",
  },
  upstreamSaturated: {
    name: "sluice_upstream_saturated",
    kind: "gauge",
    labels: upstreamLabels,
    help: "Is 1 while a model gets no request because of its provider's own limits. Only with upstream_limits: avoid.",
  },
  upstreamRefusals: {
    name: "sluice_upstream_refusals_total",
    kind: "counter",
    labels: upstreamLabels,
    help: "Answers of a provider with status 429.",
  },
  adaptiveConcurrency: {
    name: "sluice_adaptive_concurrency",
    kind: "gauge",
    labels: upstreamLabels,
    help: "Requests in flight that a model gets now. Only with adaptive_concurrency.",
  },
  rulesLeftOut: {
    name: "sluice_metrics_rules_left_out",
    kind: "gauge",
    help: "Rules and budgets without series because of metrics.rules_max.",
  },
});
