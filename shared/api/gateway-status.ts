/**
 * The state of the daemon (GET /admin/status) and of one proxy (GET /health, /ready and
 * /admin/targets). Event counts begin with the start of the process.
 */
import type { EffectiveSetting, FailureMode } from "../config/config.js";
import type { TimedAnswer } from "./list-page.js";
import type { FollowerItem } from "./record-item.js";

/**
 * The answer to GET /admin/status: the daemon's state and the targets that the answering proxy has
 * seen fail, and its price list.
 */
export interface GatewayStatus extends DaemonStatus {
  readonly targets: readonly TargetItem[];
  /** The price list of the answering proxy; null if it can have no configured provider. */
  readonly price_list: PriceListStatus | null;
}

/** The price list in force. */
export interface PriceListStatus {
  /** The day of the public lists that it was made from. */
  readonly date: string;
  readonly age_days: number;
  /** The public lists, with version and licence. */
  readonly lists: readonly string[];
  readonly file: string;
}

/** The part of the status for a role for a subtree. */
export type SubtreeStatus = Pick<
  DaemonStatus,
  "version" | "uptime_seconds" | "enabled" | "usage_enabled" | "budgets_enabled"
>;

/** The output of `sluice status`. */
export interface DaemonStatus {
  readonly version: string;
  readonly pid: number;
  readonly uptime_seconds: number;
  /** Whether rate limits are enforced. */
  readonly enabled: boolean;
  readonly usage_enabled: boolean;
  readonly rules: number;
  /** Windows of the children of templates. */
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
  /** Their ids, each beginning with the name that its log lines have; at most 100. */
  readonly proxy_ids: readonly string[];
  /** Connected proxies that speak an older version of the wire protocol. */
  readonly older_proxies: number;
  /** Targets whose circuit is open in a proxy, each with its reason; at most 100. */
  readonly open_targets: readonly string[];
  readonly in_flight: number;
  readonly admitted: number;
  /** Requests refused by a rule or a budget. */
  readonly refused: number;
  /** Requests denied for lack of a valid key. */
  readonly denied: number;
  /** Requests refused by a budget; `refused` includes them. */
  readonly over_budget: number;
  readonly settled: number;
  /** Tokens of settled requests, without answers from the cache. */
  readonly tokens: number;
  /** The cost of settled requests that have a price. */
  readonly cost: number;
  readonly repeated_settles: number;
  readonly dropped_records: number;
  /** Background responses whose usage is still unknown. */
  readonly pending_responses: number;
  /** Background responses beyond `usage.background_max`; their usage stays unknown. */
  readonly pending_responses_left_out: number;
  /** Sums of usage that have reached their maximum. */
  readonly saturated_sums: number;
  /** Connections closed because of a broken message. */
  readonly closed_peers: number;
  /** Null if this host shares nothing. */
  readonly cluster: ClusterStatus | null;
  /** The followers of the usage records, at most 16. */
  readonly followers: readonly FollowerItem[];
  readonly store: {
    /** The file's path. */
    readonly file: string;
    /** Null if unknown. */
    readonly bytes: number | null;
    /** The bytes in use within the file; null if unknown. */
    readonly used_bytes: number | null;
    readonly journal_bytes: number;
    /** In whole seconds; null if there was none since the start. */
    readonly last_flush_at: string | null;
    /** When the last kept backup was made; null if there was none since `backups_noted_since`. */
    readonly last_backup_at: string | null;
    readonly backups_noted_since: string;
    /** Whether the store has ever had usage records. */
    readonly has_usage: boolean;
    readonly failed_commits: number;
    /** Settles that a crash would lose because the store hasn't been writable for too long. */
    readonly unjournaled: number;
    /** Why the store can't be written; null if it can. */
    readonly failing: string | null;
  };
}

/** The state of the cluster as this host knows it. */
export interface ClusterStatus {
  readonly name: string;
  /** This host's id. */
  readonly host: string;
  readonly engine: "connecting" | "connected" | "away";
  /** Why the engine is unreachable, or what it refuses; null if neither. */
  readonly engine_failing: string | null;
  /**
   * Whether changes by other hosts arrive immediately; otherwise this host polls for them each
   * second.
   */
  readonly changes_heard: boolean;
  /** Hosts that subscribe to changes, as the engine last reported; null if it hasn't yet. */
  readonly changes_subscribers: number | null;
  readonly failure_mode: string;
  /**
   * When this host took a new id because another host had its earlier one; null if it never did.
   */
  readonly id_taken_at: string | null;
  /** The last change of a definition that this host has, as a time in microseconds. */
  readonly definitions_version: number;
  /** The hosts as this host last heard of them, itself included. */
  readonly hosts: readonly ClusterHost[];
}

export interface ClusterHost {
  readonly id: string;
  /** The machine's name. */
  readonly name: string;
  readonly this_host: boolean;
  /** Whether this host has received a message from it within the last ten seconds. */
  readonly alive: boolean;
  readonly version: string;
  readonly uptime_seconds: number;
  /** Seconds since this host last heard of it. */
  readonly silent_seconds: number;
  /** Whether its configuration declares other rules or budgets than this host's. */
  readonly configuration_differs: boolean;
  /** Null if its release doesn't report it. */
  readonly failure_mode: string | null;
  readonly failure_mode_differs: boolean;
}

/**
 * The proxy's view of its daemon. `away`: there is no connection, or no welcome on it. `silent`:
 * there is a connection, but no answer.
 */
export type LinkState = "away" | "silent" | "connected";

/** The answer to GET /health: 200 as long as the proxy runs. Web pages get only `status`. */
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
    /**
     * The problem of the engine that hosts share; null if there is none, or this host shares
     * nothing.
     */
    readonly cluster_failing: string | null;
    /** Null until the daemon reports it, as `inert_budgets`. */
    readonly inert_rules: number | null;
    readonly inert_budgets: number | null;
    /** When the last backup was made, in whole seconds; null if none is known. */
    readonly last_backup_at: string | null;
  };
  readonly targets?: {
    /** Targets whose last attempt failed. Those with an open circuit are counted in `open`, too. */
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
  /** Null if no configured provider can be in it. */
  readonly price_list?: PriceListStatus | null;
}

/** The answer to GET /ready: 200 if ready, else 503. */
export interface Readiness {
  readonly status: "ready" | "not ready";
  /** Present if the proxy isn't ready; absent for web pages. */
  readonly reason?: "stopping" | "limiter" | "file_descriptors";
}

/** A target that has failed since its last success, as this proxy has seen it. */
export interface TargetItem {
  /** `provider/model`. */
  readonly target: string;
  /** `open`: requests skip the target for now. */
  readonly state: "failing" | "open";
  /** Consecutive failures. */
  readonly failures: number;
  /** Why the last attempt failed. */
  readonly reason: string;
  /** Seconds until a request may try it again; 0 unless the circuit is open. */
  readonly retry_in_seconds: number;
}

/** The answer to GET /admin/targets. */
export interface TargetList extends TimedAnswer {
  readonly targets: readonly TargetItem[];
}

/** The answer to GET /admin/config: the settings in force in one proxy. */
export interface SettingsList {
  readonly version: string;
  /** The loaded file; null if there is none. */
  readonly file: string | null;
  /** The scalar settings, in the order of docs/reference/configuration.md. */
  readonly settings: readonly EffectiveSetting[];
}
