/**
 * The metrics of the limiter daemon, which any proxy of its host answers for
 * (docs/reference/metrics.md).
 */
import { metricsOf, shortSeconds } from "./metric.js";

const ofRule = ["scope", "subject", "period"];

export const limiterMetrics = metricsOf("limiter", {
  admissions: {
    name: "sluice_limiter_admissions_total",
    kind: "counter",
    labels: ["verdict"],
    help: "Verdicts on requests: admitted, refused by a rule, over_budget, or denied for want of a valid key.",
  },
  settles: {
    name: "sluice_limiter_settles_total",
    kind: "counter",
    labels: ["of"],
    help: "Settles that were counted: of a request, a part of one, or an answer from the cache.",
  },
  repeatedSettles: {
    name: "sluice_limiter_settles_repeated_total",
    kind: "counter",
    help: "Settles that came again after a reconnect and weren't counted twice.",
  },
  inFlight: {
    name: "sluice_limiter_in_flight",
    kind: "gauge",
    help: "Admitted requests that aren't settled, of all proxies.",
  },
  proxies: {
    name: "sluice_limiter_proxies",
    kind: "gauge",
    help: "Connected proxies.",
  },
  rules: {
    name: "sluice_limiter_rules",
    kind: "gauge",
    help: "Rate limit rules that are loaded.",
  },
  budgets: {
    name: "sluice_limiter_budgets",
    kind: "gauge",
    help: "Budgets that are loaded.",
  },
  children: {
    name: "sluice_limiter_children",
    kind: "gauge",
    help: "Windows of the children of templates.",
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
    help: "When the next active managed key expires, in seconds since the epoch. Absent if none expires.",
  },
  inert: {
    name: "sluice_limiter_inert",
    kind: "gauge",
    labels: ["kind"],
    help: "Rules and budgets that are loaded and do nothing.",
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
    help: "Commits to the store that failed; each is tried again.",
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
    help: "Bytes of the journal that no snapshot covers yet, estimated.",
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
    help: "When the last backup was made that was kept.",
  },
  backupsSince: {
    name: "sluice_limiter_backups_since_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When this store was started first, in seconds since the epoch: its backups are noted since then.",
  },
  loopLag: {
    name: "sluice_limiter_loop_lag_seconds",
    kind: "summary",
    unit: "seconds",
    quantiles: [0.5, 0.9, 0.99, 1],
    help: "By how much turns of the daemon's event loop were late, since the last scrape.",
  },
  engineUp: {
    name: "sluice_cluster_engine_up",
    kind: "gauge",
    help: "Whether the engine of the cluster answers: 1, or 0. Not there without a cluster.",
  },
  engineFailing: {
    name: "sluice_cluster_engine_failing",
    kind: "gauge",
    help: "Whether something is wrong with the engine of the cluster, even if it answers: 1, or 0. Not there without a cluster.",
  },
  clusterChangesHeard: {
    name: "sluice_cluster_changes_heard",
    kind: "gauge",
    help: "Whether changes of other hosts arrive at once, as a message that this host sends itself each second shows: 1, or 0 if it reads changes each second instead.",
  },
  clusterChangesSubscribers: {
    name: "sluice_cluster_changes_subscribers",
    kind: "gauge",
    help: "Hosts that subscribe to changes, this one included, as the engine reports. Absent before its first report.",
  },
  clusterHosts: {
    name: "sluice_cluster_hosts",
    kind: "gauge",
    labels: ["state"],
    help: "Hosts of the cluster, this one included: alive, or away for less than a day.",
  },
  clusterDiffering: {
    name: "sluice_cluster_hosts_differing",
    kind: "gauge",
    labels: ["in"],
    help: "Living hosts that were set up in another way than this one: in their configuration of rules and budgets, or in their failure_mode.",
  },
  clusterIdTaken: {
    name: "sluice_cluster_id_taken_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When this host last took another id because another host had the same, in seconds since the epoch. Not there if it never did.",
  },
  clusterSync: {
    name: "sluice_cluster_sync_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: shortSeconds,
    help: "Time until the engine has answered about counters, in batches.",
  },
  clusterQuestions: {
    name: "sluice_cluster_operations_total",
    kind: "counter",
    help: "Operations of the engine on counters: one for each counter that it is asked about.",
  },
  clusterGranted: {
    name: "sluice_cluster_granted_total",
    kind: "counter",
    help: "Requests and slots that the engine has granted to this host.",
  },
  clusterParked: {
    name: "sluice_cluster_parked_total",
    kind: "counter",
    help: "Times that a request has waited for the engine.",
  },
  clusterRefused: {
    name: "sluice_cluster_refused_total",
    kind: "counter",
    labels: ["reason"],
    help: "Requests refused without a verdict: the engine was away, or too many waited for it.",
  },
  clusterShares: {
    name: "sluice_cluster_shares",
    kind: "gauge",
    help: "Counters that this host shares with others and has used lately.",
  },
  followerLag: {
    name: "sluice_limiter_follower_lag_seconds",
    kind: "gauge",
    unit: "seconds",
    labels: ["follower"],
    help: "Age of the oldest usage record that a follower hasn't handed on; 0: it has all, or had all when it ended with --once.",
  },
  followerAsked: {
    name: "sluice_limiter_follower_silent_seconds",
    kind: "gauge",
    unit: "seconds",
    labels: ["follower"],
    help: "Time since a follower asked for usage records last.",
  },
  droppedRecords: {
    name: "sluice_limiter_dropped_records_total",
    kind: "counter",
    help: "Invalid usage records, whose requests were counted without them.",
  },
  pendingResponses: {
    name: "sluice_limiter_pending_responses",
    kind: "gauge",
    help: "Responses in the background whose usage is waited for.",
  },
  pendingResponsesLeftOut: {
    name: "sluice_limiter_pending_responses_left_out_total",
    kind: "counter",
    help: "Responses in the background beyond usage.background_max, whose usage stays unknown.",
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
    help: "The release of the daemon: always 1.",
  },
  ruleUsed: {
    name: "sluice_rule_used",
    kind: "gauge",
    labels: [...ofRule, "dimension"],
    help: "What counts in the window of a rule now, in requests or tokens; of a rule on concurrency, what runs.",
  },
  ruleLimit: {
    name: "sluice_rule_limit",
    kind: "gauge",
    labels: [...ofRule, "dimension"],
    help: "The cap of a rule.",
  },
  ruleInFlight: {
    name: "sluice_rule_in_flight",
    kind: "gauge",
    labels: ofRule,
    help: "Requests in flight that a rule counts.",
  },
  budgetSpent: {
    name: "sluice_budget_spent_usd",
    kind: "gauge",
    labels: ofRule,
    help: "What was spent of a budget in its period, in US dollars.",
  },
  budgetAmount: {
    name: "sluice_budget_amount_usd",
    kind: "gauge",
    labels: ofRule,
    help: "The amount of a budget, in US dollars.",
  },
  budgetPeriodEnd: {
    name: "sluice_budget_period_end_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    labels: ofRule,
    help: "When the period of a budget ends, in seconds since the epoch.",
  },
  rulesLeftOut: {
    name: "sluice_metrics_rules_left_out",
    kind: "gauge",
    help: "Rules and budgets without series of their own, because there are more than metrics.rules_max.",
  },
});
