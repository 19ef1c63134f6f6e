/**
 * Every scalar setting of Sluice in one table: where it stands in the file, which variable and flag
 * override it, what it accepts, its default and its meaning. `docs/configuration.md` is checked
 * against it. What a provider is made of stands in `provider-settings.ts`; rules and virtual models
 * aren't scalars and have their own files.
 */
import type { LogLevel } from "../../log.js";
import type { FailureMode } from "../config.js";
import {
  boolean,
  choice,
  filePath,
  headerName,
  host,
  integer,
  masterKey,
  names,
  seconds,
  type ValueKind,
} from "./setting-kind.js";

/** What the command line may override. Values come as commander gives them. */
export interface Flags {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly socket?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly logLevel?: string | undefined;
}

export interface Setting<T> {
  /** Where it stands in `sluice.yaml`. */
  readonly path: string;
  readonly env: string | null;
  readonly flag: keyof Flags | null;
  readonly kind: ValueKind<T>;
  /** The default, as the kind keeps it (seconds are kept as milliseconds). */
  readonly fallback: T;
  /** The default as an operator reads it, in `unit`. */
  readonly shown: string;
  readonly unit: string | null;
  /** One sentence. */
  readonly meaning: string;
}

function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}

export const settings = {
  host: setting({
    path: "server.host",
    env: "HOST",
    flag: "host",
    kind: host,
    fallback: "127.0.0.1",
    shown: "127.0.0.1",
    unit: null,
    meaning: "The address that the proxy listens on.",
  }),
  port: setting({
    path: "server.port",
    env: "PORT",
    flag: "port",
    kind: integer({ min: 0, max: 65_535 }),
    fallback: 8080,
    shown: "8080",
    unit: null,
    meaning: "The port that the proxy listens on; 0 takes any free one.",
  }),
  masterKey: setting({
    path: "server.master_key",
    env: "SLUICE_MASTER_KEY",
    flag: null,
    kind: masterKey,
    fallback: null,
    shown: "none",
    unit: null,
    meaning:
      "The token that opens all of /v1 and /admin; with neither it nor a JWT issuer or a managed key the gateway is open.",
  }),
  allowOpen: setting({
    path: "server.allow_open",
    env: "SLUICE_ALLOW_OPEN",
    flag: null,
    kind: boolean,
    fallback: false,
    shown: "false",
    unit: null,
    meaning: "Lets an open gateway listen on an address other than loopback.",
  }),
  passthrough: setting({
    path: "server.passthrough",
    env: null,
    flag: null,
    kind: boolean,
    fallback: true,
    shown: "true",
    unit: null,
    meaning:
      "Whether /p/{provider}/… passes requests on as they are, to any path of a provider, with its key.",
  }),
  userPathHeader: setting({
    path: "server.user_path_header",
    env: "USER_PATH_HEADER",
    flag: null,
    kind: headerName,
    fallback: "x-sluice-user-path",
    shown: "x-sluice-user-path",
    unit: null,
    meaning: "The request header in which a master-key caller names its user path, in any case.",
  }),
  bodyBytesMax: setting({
    path: "server.max_body_bytes",
    env: null,
    flag: null,
    kind: integer({ min: 1024, max: 1_073_741_824 }),
    fallback: 33_554_432,
    shown: "33554432",
    unit: "bytes",
    meaning: "The largest request body that is taken; a larger one gets 413.",
  }),
  uploadBytesMax: setting({
    path: "server.max_upload_bytes",
    env: null,
    flag: null,
    kind: integer({ min: 1024, max: 1_099_511_627_776 }),
    fallback: 536_870_912,
    shown: "536870912",
    unit: "bytes",
    meaning:
      "The largest upload that is taken, audio or a file, which passes without being held in memory; a larger one gets 413.",
  }),
  drainMs: setting({
    path: "server.drain_seconds",
    env: null,
    flag: null,
    kind: seconds({ min: 0, max: 3600, zero: true }),
    fallback: 25_000,
    shown: "25",
    unit: "seconds",
    meaning: "How long a stopping proxy lets running requests finish.",
  }),
  stalledClientMs: setting({
    path: "server.stalled_client_seconds",
    env: null,
    flag: null,
    kind: seconds({ min: 0.1, max: 3600, zero: false }),
    fallback: 60_000,
    shown: "60",
    unit: "seconds",
    meaning: "How long a client may leave a response unread before its connection is closed.",
  }),
  requestIdInRefusals: setting({
    path: "server.request_id_in_refusals",
    env: null,
    flag: null,
    kind: boolean,
    fallback: false,
    shown: "false",
    unit: null,
    meaning:
      "Adds request_id beside error to the body of a 429 of ours, for callers that log bodies and no headers.",
  }),
  socket: setting({
    path: "limiter.socket",
    env: "SLUICE_SOCKET",
    flag: "socket",
    kind: filePath,
    fallback: null,
    shown: "see below",
    unit: null,
    meaning: "The Unix socket between the proxies and the limiter daemon, at most 107 bytes long.",
  }),
  socketGroupAccess: setting({
    path: "limiter.socket_group_access",
    env: null,
    flag: null,
    kind: boolean,
    fallback: false,
    shown: "false",
    unit: null,
    meaning: "Opens the socket to the daemon's group, not to its user alone.",
  }),
  dataDir: setting({
    path: "limiter.data_dir",
    env: "SLUICE_DATA_DIR",
    flag: "dataDir",
    kind: filePath,
    fallback: null,
    shown: "see below",
    unit: null,
    meaning: "The directory in which the daemon keeps its store.",
  }),
  failureMode: setting<FailureMode>({
    path: "limiter.failure_mode",
    env: "LIMITER_FAILURE_MODE",
    flag: null,
    kind: choice(["closed", "open"]),
    fallback: "closed",
    shown: "closed",
    unit: null,
    meaning:
      "What a model request gets while the daemon is away: closed refuses it with 503, open lets it through and counts it later.",
  }),
  deadlineMs: setting({
    path: "limiter.deadline_ms",
    env: null,
    flag: null,
    kind: integer({ min: 1, max: 60_000 }),
    fallback: 2000,
    shown: "2000",
    unit: "milliseconds",
    meaning: "How long an admission waits for the daemon before failure_mode applies.",
  }),
  usageEnabled: setting({
    path: "usage.enabled",
    env: "USAGE_ENABLED",
    flag: null,
    kind: boolean,
    fallback: true,
    shown: "true",
    unit: null,
    meaning: "Tracks usage; token limits need it.",
  }),
  usageRetentionDays: setting({
    path: "usage.retention_days",
    env: "USAGE_RETENTION_DAYS",
    flag: null,
    kind: integer({ min: 1, max: 36_500 }),
    fallback: 400,
    shown: "400",
    unit: "days",
    meaning:
      "How long usage records are kept; their sums per day are kept as long, and at least 366 days.",
  }),
  cacheEnabled: setting({
    path: "cache.enabled",
    env: "CACHE_ENABLED",
    flag: null,
    kind: boolean,
    fallback: false,
    shown: "false",
    unit: null,
    meaning: "Answers a request that was asked before, letter by letter, from the proxy's memory.",
  }),
  cacheTtlMs: setting({
    path: "cache.ttl_seconds",
    env: "CACHE_TTL_SECONDS",
    flag: null,
    kind: seconds({ min: 0.001, max: 31_536_000, zero: false }),
    fallback: 3_600_000,
    shown: "3600",
    unit: "seconds",
    meaning: "How long an answer is used again.",
  }),
  cacheEntriesMax: setting({
    path: "cache.max_entries",
    env: "CACHE_MAX_ENTRIES",
    flag: null,
    kind: integer({ min: 1, max: 10_000_000 }),
    fallback: 10_000,
    shown: "10000",
    unit: null,
    meaning: "How many answers a proxy keeps; the one that was used longest ago goes first.",
  }),
  cacheBytesMax: setting({
    path: "cache.max_bytes",
    env: "CACHE_MAX_BYTES",
    flag: null,
    kind: integer({ min: 1024, max: 68_719_476_736 }),
    fallback: 67_108_864,
    shown: "67108864",
    unit: "bytes",
    meaning: "How much a proxy keeps, all in all.",
  }),
  cacheEntryBytesMax: setting({
    path: "cache.max_entry_bytes",
    env: "CACHE_MAX_ENTRY_BYTES",
    flag: null,
    kind: integer({ min: 1024, max: 33_554_432 }),
    fallback: 1_048_576,
    shown: "1048576",
    unit: "bytes",
    meaning: "The largest answer that is kept.",
  }),
  cacheSharedAcrossPaths: setting({
    path: "cache.share_across_paths",
    env: "CACHE_SHARE_ACROSS_PATHS",
    flag: null,
    kind: boolean,
    fallback: false,
    shown: "false",
    unit: null,
    meaning: "Lets what one user path asked answer another.",
  }),
  entitlements: setting({
    path: "entitlements",
    env: "SLUICE_ENTITLEMENTS",
    flag: null,
    kind: names(["quota_templates"]),
    fallback: [],
    shown: "none",
    unit: null,
    meaning:
      "The features this installation is entitled to; quota_templates (per_child rules) is the only one.",
  }),
  rateLimitsEnabled: setting({
    path: "rate_limits.enabled",
    env: "RATE_LIMITS_ENABLED",
    flag: null,
    kind: boolean,
    fallback: true,
    shown: "true",
    unit: null,
    meaning: "Enforces rate limits; false keeps the rules and enforces none.",
  }),
  flushIntervalMs: setting({
    path: "rate_limits.flush_interval",
    env: "RATE_LIMITS_FLUSH_INTERVAL",
    flag: null,
    kind: seconds({ min: 0.01, max: 3600, zero: true }),
    fallback: 1000,
    shown: "1",
    unit: "seconds",
    meaning:
      "How often the counters are written to the store, fractions allowed; 0 writes them on a clean stop only.",
  }),
  budgetsEnabled: setting({
    path: "budgets.enabled",
    env: "BUDGETS_ENABLED",
    flag: null,
    kind: boolean,
    fallback: true,
    shown: "true",
    unit: null,
    meaning: "Enforces budgets; false keeps them, with what was spent, and enforces none.",
  }),
  logLevel: setting<LogLevel>({
    path: "log_level",
    env: "LOG_LEVEL",
    flag: "logLevel",
    kind: choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]),
    fallback: "info",
    shown: "info",
    unit: null,
    meaning: "The least important lines that are logged.",
  }),
} as const;

/** The checked value of each setting. */
export type SettingValues = {
  readonly [K in keyof typeof settings]: (typeof settings)[K]["fallback"];
};

/** The variable that names the file itself, so it can't stand in it. */
export const configFileVariable = "SLUICE_CONFIG";

/** A flag as it is typed: `--data-dir`. */
export function flagName(flag: keyof Flags): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
