/**
 * The state of the daemon (GET /admin/status) and of one proxy (GET /health, /ready and
 * /admin/targets). Counts of events are since the start of their process.
 */
import type { EffectiveSetting, FailureMode } from "../config/config.js";
import type { Timed } from "./list-page.js";
import type { FollowerItem } from "./record-item.js";

/** Of GET /admin/status: the daemon's, and what the proxy that answers has seen of its targets. */
export interface GatewayStatus extends DaemonStatus {
  readonly targets: readonly TargetItem[];
}

/** Of `sluice status`. */
export interface DaemonStatus {
  readonly version: string;
  readonly pid: number;
  readonly uptime_seconds: number;
  /** Whether rate limits are enforced. */
  readonly enabled: boolean;
  readonly usage_enabled: boolean;
  readonly rules: number;
  /** Windows of templates' children. */
  readonly child_windows: number;
  readonly inert_rules: number;
  readonly inert_budgets: number;
  /** Each with its reason; at most 100 rules and 100 budgets. */
  readonly inert: readonly string[];
  readonly keys: number;
  readonly budgets_enabled: boolean;
  readonly budgets: number;
  /** Connected proxies. */
  readonly proxies: number;
  /** Their ids, which begin with the names that the log has; at most 100. */
  readonly proxy_ids: readonly string[];
  /** Those of them that speak an older version of the wire protocol. */
  readonly older_proxies: number;
  /** Targets whose circuit is open in a proxy, each with the reason; at most 100. */
  readonly open_targets: readonly string[];
  readonly in_flight: number;
  readonly admitted: number;
  /** By a rule or a budget. */
  readonly refused: number;
  /** For want of a valid key. */
  readonly denied: number;
  /** Refused by a budget: they are in `refused`, too. */
  readonly over_budget: number;
  readonly settled: number;
  /** Of settled requests, answers from the cache left out. */
  readonly tokens: number;
  /** Of settled requests that have a price. */
  readonly cost: number;
  readonly repeated_settles: number;
  readonly dropped_records: number;
  /** Responses in the background whose usage is waited for. */
  readonly pending_responses: number;
  /** Those beyond `usage.background_max`: their usage stays unknown. */
  readonly pending_responses_left_out: number;
  /** Sums of usage that have reached the largest number that they can show. */
  readonly saturated_sums: number;
  /** Connections that were closed for a broken message. */
  readonly closed_peers: number;
  /** Null on a host that shares nothing with others. */
  readonly cluster: ClusterStatus | null;
  /** Who hands the usage records on elsewhere, at most 16. */
  readonly followers: readonly FollowerItem[];
  readonly store: {
    /** The file's path. */
    readonly file: string;
    /** Null when that is unknown. */
    readonly bytes: number | null;
    /** What of it holds entries; null likewise. */
    readonly used_bytes: number | null;
    readonly journal_bytes: number;
    /** Whole seconds; null: not since the start. */
    readonly last_flush_at: string | null;
    /** When the last backup was made that was kept; null: none since backups are noted. */
    readonly last_backup_at: string | null;
    readonly backups_noted_since: string;
    /** Whether it has ever had usage records. */
    readonly has_usage: boolean;
    readonly failed_commits: number;
    /** Settles that a crash would lose: the store can't be written for too long. */
    readonly unjournaled: number;
    /** Why the store can't be written; null if it can. */
    readonly failing: string | null;
  };
}

/** What several hosts share, as one of them knows it. */
export interface ClusterStatus {
  readonly name: string;
  /** This host's id. */
  readonly host: string;
  readonly engine: "connecting" | "connected" | "away";
  /** Why it isn't reached, or what it refuses; null if neither. */
  readonly engine_failing: string | null;
  /**
   * Whether changes of other hosts arrive immediately; if not, this host reads them each second.
   */
  readonly changes_heard: boolean;
  /** Hosts that subscribe to changes, as the engine last reported; null: not yet. */
  readonly changes_subscribers: number | null;
  readonly failure_mode: string;
  /** When this host took its id because another host had its earlier one; null: it never did. */
  readonly id_taken_at: string | null;
  /** Of the last change of a definition that this host has: a moment, in microseconds. */
  readonly definitions_version: number;
  /** As this host has last heard, itself included. */
  readonly hosts: readonly ClusterHost[];
}

export interface ClusterHost {
  readonly id: string;
  /** The machine's name. */
  readonly name: string;
  readonly this_host: boolean;
  /** Whether it was heard of within ten seconds. */
  readonly alive: boolean;
  readonly version: string;
  readonly uptime_seconds: number;
  /** Since it was last heard of. */
  readonly silent_seconds: number;
  /** Its configuration declares other rules or budgets than this host's. */
  readonly configuration_differs: boolean;
  /** Null: its release doesn't say. */
  readonly failure_mode: string | null;
  readonly failure_mode_differs: boolean;
}

/**
 * What a proxy knows of its daemon. `away`: there is no connection, or the daemon hasn't welcomed
 * the proxy, yet or at all. `silent`: there is one, and no answer.
 */
export type LinkState = "away" | "silent" | "connected";

/**
 * Of GET /health: 200 as long as the proxy answers. All but `status` are left out for web pages.
 */
export interface Health {
  readonly status: "ok" | "degraded";
  readonly version?: string;
  readonly limiter?: {
    /** Whether the proxy is connected to the daemon. */
    readonly reachable: boolean;
    readonly state: LinkState;
    readonly failure_mode: FailureMode;
    /** Settles that the daemon hasn't acknowledged. */
    readonly unsettled: number;
    /** Why the daemon can't write its store; null if it can. */
    readonly store_failing: string | null;
    /** What is wrong with the engine that hosts share; null: nothing, or the host shares none. */
    readonly cluster_failing: string | null;
    /** Null until the daemon has said, as `inert_budgets`. */
    readonly inert_rules: number | null;
    readonly inert_budgets: number | null;
    /** When the last backup was made; null: none is known. Whole seconds. */
    readonly last_backup_at: string | null;
  };
  readonly targets?: {
    /** Targets that failed at their last attempt, and those of them whose circuit is open. */
    readonly failing: number;
    readonly open: number;
  };
  readonly capacity?: {
    /** Open connections. */
    readonly connections: number;
    readonly requests: number;
    readonly requests_max: number;
    /** Bytes of bodies in memory. */
    readonly held_bytes: number;
    readonly held_bytes_max: number;
    readonly file_descriptors_exhausted: boolean;
  };
}

/** Of GET /ready: 200 if ready, else 503. */
export interface Readiness {
  readonly status: "ready" | "not ready";
  /** Only if it isn't ready, and not for web pages. */
  readonly reason?: "stopping" | "limiter" | "file_descriptors";
}

/** A target that has failed since its last answer, as this proxy has seen it. */
export interface TargetItem {
  /** `provider/model`. */
  readonly target: string;
  /** `open`: requests skip it for now. */
  readonly state: "failing" | "open";
  /** In a row. */
  readonly failures: number;
  /** Why the last attempt failed. */
  readonly reason: string;
  /** Until the next request may try it; 0 unless it is open. */
  readonly retry_in_seconds: number;
}

/** Of GET /admin/targets. */
export interface TargetList extends Timed {
  readonly targets: readonly TargetItem[];
}

/** Of GET /admin/config: the settings of one proxy as they are in force. */
export interface SettingsList {
  readonly version: string;
  /** The file that was read; null: there is none. */
  readonly file: string | null;
  /** The scalar settings, in the order of docs/reference/configuration.md. */
  readonly settings: readonly EffectiveSetting[];
}
