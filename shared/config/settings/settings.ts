/**
 * Every scalar setting: path in the file, variable, flag, kind with range and unit, default and
 * meaning, once. The checked values, the reference page, the example file and the JSON Schema are
 * made of these rows. Not here: the fields of entries (providers, prices, issuers, rewriters),
 * which have tables beside this one, and rules, budgets and virtual models, which aren't scalars.
 */
import type { ClusterFailureMode } from "../../cluster/cluster-config.js";
import type { EngineAddress } from "../../cluster/engine-url.js";
import type { LogLevel } from "../../log.js";
import type { LogFormat } from "../../logging/log-format.js";
import { type TraceSampler, traceSamplers } from "../../metrics/telemetry-config.js";
import type { Network } from "../ip-network.js";
import { boolean, choice, passthroughAccess, processCount } from "../kinds/choice-kinds.js";
import { clusterName, enginePassword, engineUrls, engineWord } from "../kinds/cluster-kinds.js";
import { hostNames, names, networks, origins } from "../kinds/list-kinds.js";
import { fraction, integer, seconds } from "../kinds/number-kinds.js";
import { headerList, masterKey } from "../kinds/secret-kinds.js";
import { filePath, headerName, host } from "../kinds/text-kinds.js";
import { baseUrl, webUrl } from "../kinds/url-kinds.js";
import type { PassthroughAccess } from "../provider-type.js";
import { type SettingValuesOf, setting } from "./setting.js";

/** Each section of the file that holds settings, for people. */
export const sectionMeanings = {
  server: "The proxy's HTTP server.",
  limiter: "The limiter daemon, and how proxies reach it.",
  usage: "Tracking of usage.",
  cache: "The response cache.",
  metrics: "What Prometheus reads.",
  tracing: "Traces of requests.",
  cluster: "What this host shares with others.",
  rate_limits: "Rate limits, and how they are enforced.",
  budgets: "Budgets, and how they are enforced.",
} as const;

/** Of the proxy. `Config.server` has them by these names. */
export const serverSettings = {
  host: setting({
    path: "server.host",
    env: "HOST",
    flag: "host",
    kind: host,
    defaultValue: "127.0.0.1",
    meaning: "The address that the proxy listens on.",
  }),
  port: setting({
    path: "server.port",
    env: "PORT",
    flag: "port",
    kind: integer({ min: 0, max: 65_535 }),
    defaultValue: 8080,
    meaning: "The port that the proxy listens on; 0 chooses any free one.",
  }),
  proxies: setting<number | "auto">({
    path: "server.proxies",
    env: "SLUICE_PROXIES",
    kind: processCount,
    defaultValue: 1,
    meaning:
      "How many proxies listen at the address, each a process of its own; auto is one for each processor.",
  }),
  masterKey: setting({
    path: "server.master_key",
    env: "SLUICE_MASTER_KEY",
    kind: masterKey,
    defaultValue: null,
    example: '"${SLUICE_MASTER_KEY}"',
    meaning:
      "The token that opens all of /v1 and /admin; with neither it nor a JWT issuer or a managed key the gateway is open.",
  }),
  masterKeyFile: setting<string | null>({
    path: "server.master_key_file",
    env: "SLUICE_MASTER_KEY_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/run/secrets/master-key",
    meaning:
      "A file that holds the master key in place of server.master_key; a proxy reads it when it starts.",
  }),
  adminHost: setting({
    path: "server.admin.host",
    env: "SLUICE_ADMIN_HOST",
    kind: host,
    defaultValue: "127.0.0.1",
    meaning: "The address that server.admin.port is on.",
  }),
  adminPort: setting<number | null>({
    path: "server.admin.port",
    env: "SLUICE_ADMIN_PORT",
    kind: integer({ min: 0, max: 65_535 }),
    defaultValue: null,
    example: "8081",
    meaning:
      "A port of its own for /admin and the dashboard, which server.port then doesn't serve; 0 chooses any free one.",
  }),
  publicUrl: setting<string | null>({
    path: "server.public_url",
    env: "SLUICE_PUBLIC_URL",
    kind: baseUrl,
    defaultValue: null,
    example: "https://gateway.example.com",
    meaning:
      "Where clients find the proxy, for the addresses in answers that lead back to it; by default the host that each request names.",
  }),
  allowOpen: setting({
    path: "server.allow_open",
    env: "SLUICE_ALLOW_OPEN",
    kind: boolean,
    defaultValue: false,
    meaning: "Lets an open gateway listen on an address other than loopback.",
  }),
  allowedHosts: setting<readonly string[]>({
    path: "server.allowed_hosts",
    env: "SLUICE_ALLOWED_HOSTS",
    kind: hostNames,
    defaultValue: [],
    example: "[gateway.internal]",
    meaning:
      "The host names, besides localhost and server.host, by which callers without credentials may call an open gateway; IP addresses always may.",
  }),
  corsOrigins: setting<readonly string[]>({
    path: "server.cors_origins",
    env: "SLUICE_CORS_ORIGINS",
    kind: origins,
    defaultValue: [],
    example: "[https://app.example.com]",
    meaning: "The origins of the web pages that may call from a browser (CORS).",
  }),
  trustedProxies: setting<readonly Network[]>({
    path: "server.trusted_proxies",
    env: "SLUICE_TRUSTED_PROXIES",
    kind: networks,
    defaultValue: [],
    example: "[10.0.0.0/8]",
    meaning:
      "The addresses, or networks such as 10.0.0.0/8, of the reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
  }),
  passthrough: setting<PassthroughAccess>({
    path: "server.passthrough",
    env: "SLUICE_PASSTHROUGH",
    kind: passthroughAccess,
    defaultValue: "master_key",
    meaning:
      "Who may use /p/{provider}/…, which forwards requests unchanged, to any path of a provider, with its key: off, only the master key (and an open gateway's callers), or all callers.",
  }),
  userPathHeader: setting({
    path: "server.user_path_header",
    env: "USER_PATH_HEADER",
    kind: headerName,
    defaultValue: "x-sluice-user-path",
    meaning: "The request header in which a master-key caller names its user path, in any case.",
  }),
  bodyBytesMax: setting({
    path: "server.max_body_bytes",
    kind: integer({ min: 1024, max: 1_073_741_824 }, "bytes"),
    defaultValue: 33_554_432,
    meaning: "The largest request body that is accepted; a larger one gets 413.",
  }),
  uploadBytesMax: setting({
    path: "server.max_upload_bytes",
    kind: integer({ min: 1024, max: 1_099_511_627_776 }, "bytes"),
    defaultValue: 536_870_912,
    meaning:
      "The largest upload that is accepted, audio or a file, which isn't held in memory; a larger one gets 413.",
  }),
  heldBytesMax: setting<number | null>({
    path: "server.max_held_bytes",
    kind: integer({ min: 1_048_576, max: 1_099_511_627_776 }, "bytes"),
    defaultValue: null,
    defaultText: "a quarter of the memory, at most 2 GiB",
    example: "268435456",
    meaning:
      "How many bytes of requests and answers a proxy holds in memory at once; a request that doesn't fit gets 503.",
  }),
  connectionsMax: setting({
    path: "server.max_connections",
    kind: integer({ min: 1, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning:
      "How many connections and requests a proxy holds at once; fewer if it may not open as many files.",
  }),
  drainMs: setting({
    path: "server.drain_seconds",
    kind: seconds({ min: 0, max: 3600, zero: true }),
    defaultValue: 25_000,
    meaning: "How long a stopping proxy lets running requests finish.",
  }),
  drainGraceMs: setting({
    path: "server.drain_grace_seconds",
    env: "SLUICE_DRAIN_GRACE_SECONDS",
    kind: seconds({ min: 0, max: 3600, zero: true }),
    defaultValue: 2_000,
    meaning:
      "How long a stopping proxy still accepts requests while /ready answers 503, so that load balancers stop sending.",
  }),
  reloadDrainMs: setting({
    path: "server.reload_drain_seconds",
    kind: seconds({ min: 0, max: 86_400, zero: true }),
    defaultValue: 600_000,
    meaning:
      "How long a proxy that a reload has replaced lets running requests finish; its successor takes new ones.",
  }),
  stalledClientMs: setting({
    path: "server.stalled_client_seconds",
    kind: seconds({ min: 0.1, max: 3600, zero: false }),
    defaultValue: 60_000,
    meaning: "How long a client may leave a response unread before its connection is closed.",
  }),
  streamKeepAliveMs: setting({
    path: "server.stream_keep_alive_seconds",
    kind: seconds({ min: 0.1, max: 3600, zero: true }),
    defaultValue: 0,
    meaning:
      "After how long without a byte a stream's client gets a keep-alive, also before the answer begins; 0 never sends one.",
  }),
  requestIdInRefusals: setting({
    path: "server.request_id_in_refusals",
    kind: boolean,
    defaultValue: false,
    meaning:
      "Adds request_id beside error to the body of a 429 by Sluice, for callers that log bodies but no headers.",
  }),
} as const;

/**
 * Of the daemon, and of the connection to it. `Config.limiter` has them by these names. The
 * defaults of the paths depend on the user: `../resolve/limiter.ts` computes them.
 */
export const limiterSettings = {
  socket: setting({
    path: "limiter.socket",
    env: "SLUICE_SOCKET",
    flag: "socket",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/run/sluice/limiterd.sock",
    meaning: "The Unix socket between the proxies and the limiter daemon, at most 107 bytes long.",
  }),
  adminSocket: setting({
    path: "limiter.admin_socket",
    env: "SLUICE_ADMIN_SOCKET",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/run/sluice/limiterd-admin.sock",
    meaning:
      "The daemon's Unix socket for administration, open to its user alone, at most 107 bytes long.",
  }),
  socketGroupAccess: setting({
    path: "limiter.socket_group_access",
    kind: boolean,
    defaultValue: false,
    meaning:
      "Opens the socket, but not the one for administration, to the daemon's group, not only to its user.",
  }),
  dataDir: setting({
    path: "limiter.data_dir",
    env: "SLUICE_DATA_DIR",
    flag: "dataDir",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/var/lib/sluice",
    meaning: "The directory in which the daemon keeps its store.",
  }),
  spoolDir: setting({
    path: "limiter.spool_dir",
    env: "SLUICE_SPOOL_DIR",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/var/lib/sluice/spool",
    meaning:
      "The directory where a stopping proxy saves what the daemon hasn't acknowledged, for the next proxy to deliver.",
  }),
  failureMode: setting<"closed" | "open">({
    path: "limiter.failure_mode",
    env: "LIMITER_FAILURE_MODE",
    kind: choice(["closed", "open"]),
    defaultValue: "closed",
    meaning:
      "What a model request gets while the daemon is unreachable: closed refuses it with 503, open lets it through and counts it later.",
  }),
  deadlineMs: setting({
    path: "limiter.deadline_ms",
    kind: integer({ min: 1, max: 60_000 }, "milliseconds"),
    defaultValue: 2000,
    meaning: "How long an admission waits for the daemon before failure_mode applies.",
  }),
} as const;

const usageSettings = {
  usageEnabled: setting({
    path: "usage.enabled",
    env: "USAGE_ENABLED",
    kind: boolean,
    defaultValue: true,
    meaning: "Tracks usage; token limits need it.",
  }),
  usageRetentionDays: setting({
    path: "usage.retention_days",
    env: "USAGE_RETENTION_DAYS",
    kind: integer({ min: 1, max: 36_500 }, "days"),
    defaultValue: 400,
    meaning:
      "How long usage records are kept; their sums per day are kept as long, and at least 366 days.",
  }),
  backgroundLookMs: setting({
    path: "usage.background_lookup_seconds",
    kind: seconds({ min: 0.1, max: 3600, zero: true }),
    defaultValue: 60_000,
    meaning:
      "How often Sluice asks a provider for a background response whose usage no client has fetched; less often, the older it is, and 0 never asks.",
  }),
  backgroundWaitMs: setting({
    path: "usage.background_wait_seconds",
    kind: seconds({ min: 1, max: 518_400, zero: false }),
    defaultValue: 86_400_000,
    meaning:
      "For how long the usage of a background response is waited for; after that it stays unknown.",
  }),
  backgroundMax: setting({
    path: "usage.background_max",
    kind: integer({ min: 0, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning:
      "How many background responses are waited for at once; the usage of others stays unknown.",
  }),
  storeBytesMax: setting<number | null>({
    path: "usage.max_store_bytes",
    env: "SLUICE_MAX_STORE_BYTES",
    kind: integer({ min: 16 * 1024 * 1024, max: Number.MAX_SAFE_INTEGER }, "bytes"),
    defaultValue: null,
    example: "10737418240",
    meaning:
      "How large the daemon's store may grow; beyond that the oldest usage records are removed early, and nothing else.",
  }),
} as const;

const cacheSettings = {
  cacheEnabled: setting({
    path: "cache.enabled",
    env: "CACHE_ENABLED",
    kind: boolean,
    defaultValue: false,
    meaning: "Answers a repeated, identical request from the proxy's memory.",
  }),
  cacheTtlMs: setting({
    path: "cache.ttl_seconds",
    env: "CACHE_TTL_SECONDS",
    kind: seconds({ min: 0.001, max: 31_536_000, zero: false }),
    defaultValue: 3_600_000,
    meaning: "How long an answer is used again.",
  }),
  cacheEntriesMax: setting({
    path: "cache.max_entries",
    env: "CACHE_MAX_ENTRIES",
    kind: integer({ min: 1, max: 10_000_000 }),
    defaultValue: 10_000,
    meaning: "How many answers a proxy keeps; the least recently used is dropped first.",
  }),
  cacheBytesMax: setting({
    path: "cache.max_bytes",
    env: "CACHE_MAX_BYTES",
    kind: integer({ min: 1024, max: 68_719_476_736 }, "bytes"),
    defaultValue: 67_108_864,
    meaning: "How much a proxy keeps in total.",
  }),
  cacheEntryBytesMax: setting({
    path: "cache.max_entry_bytes",
    env: "CACHE_MAX_ENTRY_BYTES",
    kind: integer({ min: 1024, max: 33_554_432 }, "bytes"),
    defaultValue: 1_048_576,
    meaning: "The largest answer that is kept.",
  }),
  cacheSharedAcrossPaths: setting({
    path: "cache.share_across_paths",
    env: "CACHE_SHARE_ACROSS_PATHS",
    kind: boolean,
    defaultValue: false,
    meaning: "Lets an answer to one user path be used for another.",
  }),
} as const;

const metricsSettings = {
  metricsToken: setting({
    path: "metrics.token",
    env: "SLUICE_METRICS_TOKEN",
    kind: masterKey,
    defaultValue: null,
    example: '"${SLUICE_METRICS_TOKEN}"',
    meaning: "A token that opens /metrics and nothing else; the master key opens it too.",
  }),
  metricsTokenFile: setting({
    path: "metrics.token_file",
    env: "SLUICE_METRICS_TOKEN_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/metrics-token",
    meaning: "A file that holds this token, read when a proxy starts.",
  }),
  metricsSeriesMax: setting({
    path: "metrics.series_max",
    kind: integer({ min: 1000, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning:
      "How many series one proxy keeps; new sets of labels beyond it are counted together, as other.",
  }),
  metricsRulesMax: setting({
    path: "metrics.rules_max",
    kind: integer({ min: 0, max: 1000 }),
    defaultValue: 500,
    meaning: "How many rules, and how many budgets, have series of their own at /metrics/limiter.",
  }),
  metricsUserPathDepth: setting({
    path: "metrics.user_paths",
    kind: integer({ min: 0, max: 8 }),
    defaultValue: 0,
    meaning:
      "How many segments of the user path are a label of requests, tokens and costs; 0: user paths are no label.",
  }),
} as const;

const tracingSettings = {
  tracePropagation: setting<"private" | "all" | "none">({
    path: "tracing.propagate",
    kind: choice(["private", "all", "none"]),
    defaultValue: "private",
    meaning:
      "Which providers are sent a request's traceparent and tracestate: those on this host and in private networks, all, or none.",
  }),
  tracingEndpoint: setting({
    path: "tracing.endpoint",
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    kind: baseUrl,
    defaultValue: null,
    example: "http://127.0.0.1:4318",
    meaning:
      "Where spans are sent, by OTLP over HTTP: the address of a collector, to which /v1/traces is appended; without it, none are made.",
  }),
  tracesEndpoint: setting<string | null>({
    path: "tracing.traces_endpoint",
    env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    kind: webUrl,
    defaultValue: null,
    example: "https://otel.example.com/in/traces",
    meaning:
      "The whole address that spans are sent to, in place of tracing.endpoint: nothing is appended.",
  }),
  tracingHeaders: setting({
    path: "tracing.headers",
    env: "OTEL_EXPORTER_OTLP_HEADERS",
    kind: headerList,
    defaultValue: null,
    example: "x-api-key=${COLLECTOR_KEY}",
    meaning:
      "Headers that the collector is sent, such as a key: name=value, several with commas between, values percent-encoded.",
  }),
  tracingHeadersFile: setting({
    path: "tracing.headers_file",
    env: "SLUICE_TRACING_HEADERS_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/otlp-headers",
    meaning: "A file that holds these headers, read when a proxy starts.",
  }),
  tracingSampler: setting<TraceSampler>({
    path: "tracing.sampler",
    env: "OTEL_TRACES_SAMPLER",
    kind: choice(traceSamplers),
    defaultValue: "parentbased_traceidratio",
    meaning:
      "Which requests have spans: parentbased_… follows what a caller's traceparent says, the rest of the name applies to all others.",
  }),
  tracingSample: setting({
    path: "tracing.sample",
    env: "OTEL_TRACES_SAMPLER_ARG",
    kind: fraction,
    defaultValue: 1,
    meaning: "Which part of the requests has spans where the sampler is a traceidratio.",
  }),
} as const;

export const clusterSettings = {
  clusterUrl: setting<readonly EngineAddress[] | null>({
    path: "cluster.url",
    env: "SLUICE_CLUSTER_URL",
    kind: engineUrls,
    defaultValue: null,
    example: "valkeys://engine.internal:6379",
    meaning:
      "The Valkey or Redis that hosts share their limits through: its address, several of a Cluster, or those of its Sentinels; without it, each host has its own.",
  }),
  clusterName: setting({
    path: "cluster.name",
    env: "SLUICE_CLUSTER_NAME",
    kind: clusterName,
    defaultValue: "sluice",
    meaning: "Which cluster this host belongs to; clusters with other names share nothing with it.",
  }),
  clusterFailureMode: setting<ClusterFailureMode>({
    path: "cluster.failure_mode",
    env: "SLUICE_CLUSTER_FAILURE_MODE",
    kind: choice(["closed", "local", "open"]),
    defaultValue: "closed",
    meaning:
      "What limited requests get while the engine is unreachable and this host's granted share is used up: closed refuses them with 503, local gives this host its part of each limit, open lets them through and counts them later.",
  }),
  clusterUsername: setting({
    path: "cluster.username",
    env: "SLUICE_CLUSTER_USERNAME",
    kind: engineWord,
    defaultValue: null,
    example: "sluice",
    meaning: "The ACL user, if the address doesn't have one.",
  }),
  clusterPassword: setting({
    path: "cluster.password",
    env: "SLUICE_CLUSTER_PASSWORD",
    kind: enginePassword,
    defaultValue: null,
    example: '"${SLUICE_CLUSTER_PASSWORD}"',
    meaning: "Its password, if the address doesn't have one.",
  }),
  clusterPasswordFile: setting({
    path: "cluster.password_file",
    env: "SLUICE_CLUSTER_PASSWORD_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/engine-key",
    meaning: "A file that holds the password, read at each new connection.",
  }),
  clusterCaFile: setting({
    path: "cluster.ca_file",
    env: "SLUICE_CLUSTER_CA_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/engine-ca.pem",
    meaning: "Certificates in PEM that are trusted there in place of the system's.",
  }),
  clusterSentinelMaster: setting({
    path: "cluster.sentinel_master",
    env: "SLUICE_CLUSTER_SENTINEL_MASTER",
    kind: engineWord,
    defaultValue: null,
    example: "engine",
    meaning:
      "The server's name at the Sentinels; cluster.url then has their addresses, user and password.",
  }),
  clusterSentinelPasswordFile: setting({
    path: "cluster.sentinel_password_file",
    env: "SLUICE_CLUSTER_SENTINEL_PASSWORD_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/sentinel-key",
    meaning: "A file that holds the password of the Sentinels, read at each new connection.",
  }),
} as const;

const ruleSettings = {
  entitlements: setting({
    path: "entitlements",
    env: "SLUICE_ENTITLEMENTS",
    kind: names(["quota_templates"]),
    defaultValue: [],
    example: "[quota_templates]",
    meaning:
      "The features this installation is entitled to; quota_templates (per_child rules) is the only one.",
  }),
  rateLimitsEnabled: setting({
    path: "rate_limits.enabled",
    env: "RATE_LIMITS_ENABLED",
    kind: boolean,
    defaultValue: true,
    meaning: "Enforces rate limits; false keeps the rules and enforces none.",
  }),
  flushIntervalMs: setting({
    path: "rate_limits.flush_interval",
    env: "RATE_LIMITS_FLUSH_INTERVAL",
    kind: seconds({ min: 0.01, max: 3600, zero: true }),
    defaultValue: 1000,
    meaning:
      "How often the counters are written to the store, fractions allowed; 0 writes them on a clean stop only.",
  }),
  budgetsEnabled: setting({
    path: "budgets.enabled",
    env: "BUDGETS_ENABLED",
    kind: boolean,
    defaultValue: true,
    meaning: "Enforces budgets; false keeps them, with what was spent, and enforces none.",
  }),
  budgetsUnpriced: setting<"allow" | "refuse">({
    path: "budgets.unpriced",
    env: "BUDGETS_UNPRICED",
    kind: choice(["allow", "refuse"]),
    defaultValue: "allow",
    meaning:
      "Whether callers under a budget may use models that have no price, whose cost no budget counts.",
  }),
} as const;

export const settings = {
  ...serverSettings,
  ...limiterSettings,
  ...usageSettings,
  ...cacheSettings,
  ...metricsSettings,
  ...tracingSettings,
  ...clusterSettings,
  ...ruleSettings,
  logLevel: setting<LogLevel>({
    path: "log_level",
    env: "LOG_LEVEL",
    flag: "logLevel",
    kind: choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]),
    defaultValue: "info",
    meaning: "The least important lines that are logged.",
  }),
  logFormat: setting<LogFormat>({
    path: "log_format",
    env: "LOG_FORMAT",
    kind: choice(["auto", "json", "text"]),
    defaultValue: "auto",
    meaning:
      "How lines are written: json, text for people, or auto, which is text on a terminal and JSON elsewhere.",
  }),
  logSample: setting({
    path: "log_sample",
    env: "LOG_SAMPLE",
    kind: fraction,
    defaultValue: 1,
    meaning: "Which part of the successful requests is logged; all others always are.",
  }),
} as const;

/** The checked value of each setting. */
export type SettingValues = SettingValuesOf<typeof settings>;

/** The variable that names the file itself, so the file can't hold it. */
export const configFileVariable = "SLUICE_CONFIG";

/** What the command line takes for a gateway elsewhere: where it is, and its key, or the second. */
export const remoteVariables = {
  url: "SLUICE_URL",
  key: "SLUICE_API_KEY",
  masterKey: "SLUICE_MASTER_KEY",
} as const;

/** What the units of systemd tell a proxy: where those that share its port answer each other. */
export const serviceVariables = { workerMetrics: "SLUICE_WORKER_METRICS" } as const;

/** What `sluice usage follow` takes for a password or a token. */
export const followVariables = { secret: "SLUICE_FOLLOW_SECRET" } as const;
