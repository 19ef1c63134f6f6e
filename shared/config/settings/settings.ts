/**
 * Every scalar setting with its path in the file, variable, flag, kind with range and unit, default
 * and meaning. The checked values, the reference page, the example file and the JSON Schema are
 * generated from these rows. Not here: the fields of entries (providers, prices, issuers,
 * rewriters), whose tables are beside this one, and rules, budgets and virtual models, which aren't
 * scalars.
 */
import type { ClusterFailureMode } from "../../cluster/cluster-config.js";
import type { EngineAddress } from "../../cluster/engine-url.js";
import { type UnpricedChoice, unpricedChoices } from "../../domain/budget.js";
import type { TokenWeights } from "../../domain/token-weights.js";
import type { LogLevel } from "../../log.js";
import type { LogFormat } from "../../logging/log-format.js";
import { type TraceSampler, traceSamplers } from "../../metrics/telemetry-config.js";
import type { Network } from "../ip-network.js";
import { boolean, choice, passthroughAccess, processCount } from "../kinds/choice-kinds.js";
import { clusterName, enginePassword, engineUrls, engineWord } from "../kinds/cluster-kinds.js";
import {
  type DefaultModel,
  defaultModels,
  hostNames,
  list,
  listOfNames,
  networks,
  origins,
  type WaitOfPath,
  waitSecondsMax,
  waitsOfPaths,
} from "../kinds/list-kinds.js";
import { fraction, integer, seconds, tokenWeights, usd } from "../kinds/number-kinds.js";
import { type ClaimedRole, claimedRoles } from "../kinds/oidc-kinds.js";
import { apiKey, headerList, masterKey } from "../kinds/secret-kinds.js";
import { filePath, headerName, host, text } from "../kinds/text-kinds.js";
import { baseUrl, webUrl } from "../kinds/url-kinds.js";
import type { PassthroughAccess } from "../provider-type.js";
import { type SearchProvider, searchProviders } from "../web-search.js";
import { type SettingValuesOf, setting } from "./setting.js";

/** Each section of the file that holds settings, for people. */
export const sectionMeanings = {
  server: "The proxy's HTTP server.",
  limiter: "The limiter daemon, and how proxies reach it.",
  usage: "Tracking of usage.",
  audit: "The audit log.",
  cache: "The response cache.",
  metrics: "What Prometheus reads.",
  tracing: "Traces of requests.",
  tools: "Tools that Sluice runs for models.",
  cluster: "What this host shares with others.",
  rate_limits: "Rate limits, and how they are enforced.",
  budgets: "Budgets, and how they are enforced.",
  admin: "Who may administer the gateway.",
  waiting: "Requests that wait for room under their limits.",
} as const;

/** The proxy's settings, by their names in `Config.server`. */
export const serverSettings = {
  host: setting({
    path: "server.host",
    env: "HOST",
    flag: "host",
    kind: host,
    defaultValue: "127.0.0.1",
    meaning: "Address to listen on.",
  }),
  port: setting({
    path: "server.port",
    env: "PORT",
    flag: "port",
    kind: integer({ min: 0, max: 65_535 }),
    defaultValue: 8080,
    meaning: "Port to listen on; 0 takes any free one.",
  }),
  proxies: setting<number | "auto">({
    path: "server.proxies",
    env: "SLUICE_PROXIES",
    kind: processCount,
    defaultValue: 1,
    meaning: "Proxy processes; auto is one for each processor.",
  }),
  masterKey: setting({
    path: "server.master_key",
    env: "SLUICE_MASTER_KEY",
    kind: masterKey,
    defaultValue: null,
    example: '"${SLUICE_MASTER_KEY}"',
    meaning:
      "The key that opens everything. Without this key and other authentication, a gateway is open.",
  }),
  masterKeyFile: setting<string | null>({
    path: "server.master_key_file",
    env: "SLUICE_MASTER_KEY_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/run/secrets/master-key",
    meaning: "File with the master key, read at the start.",
  }),
  adminHost: setting({
    path: "server.admin.host",
    env: "SLUICE_ADMIN_HOST",
    kind: host,
    defaultValue: "127.0.0.1",
    meaning: "The address of server.admin.port.",
  }),
  adminPort: setting<number | null>({
    path: "server.admin.port",
    env: "SLUICE_ADMIN_PORT",
    kind: integer({ min: 0, max: 65_535 }),
    defaultValue: null,
    example: "8081",
    meaning: "Separate port for /admin and the dashboard; 0 takes any free one.",
  }),
  publicUrl: setting<string | null>({
    path: "server.public_url",
    env: "SLUICE_PUBLIC_URL",
    kind: baseUrl,
    defaultValue: null,
    example: "https://gateway.example.com",
    meaning: "Address of the proxy in links that it returns (default: the request's Host).",
  }),
  allowOpen: setting({
    path: "server.allow_open",
    env: "SLUICE_ALLOW_OPEN",
    kind: boolean,
    defaultValue: false,
    meaning: "Allows an open gateway beyond loopback.",
  }),
  allowedHosts: setting<readonly string[]>({
    path: "server.allowed_hosts",
    env: "SLUICE_ALLOWED_HOSTS",
    kind: hostNames,
    defaultValue: [],
    example: "[gateway.internal]",
    meaning: "Host names for an open gateway, besides localhost, server.host and IP addresses.",
  }),
  corsOrigins: setting<readonly string[]>({
    path: "server.cors_origins",
    env: "SLUICE_CORS_ORIGINS",
    kind: origins,
    defaultValue: [],
    example: "[https://app.example.com]",
    meaning: "Origins of web pages that may call (CORS).",
  }),
  defaultModels: setting<readonly DefaultModel[]>({
    path: "server.default_models",
    env: "SLUICE_DEFAULT_MODELS",
    kind: defaultModels,
    defaultValue: [],
    example: "[images=openai/gpt-image-2, responses=gpt-5.5]",
    meaning:
      "Models for requests that name none, by operation (default: OpenAI's for moderations and images).",
  }),
  trustedProxies: setting<readonly Network[]>({
    path: "server.trusted_proxies",
    env: "SLUICE_TRUSTED_PROXIES",
    kind: networks,
    defaultValue: [],
    example: "[10.0.0.0/8]",
    meaning:
      "Reverse proxies, by address or network, whose X-Forwarded-For and X-Forwarded-Proto are trusted.",
  }),
  passthrough: setting<PassthroughAccess>({
    path: "server.passthrough",
    env: "SLUICE_PASSTHROUGH",
    kind: passthroughAccess,
    defaultValue: "master_key",
    meaning: "Who may use /p/{provider}/…; master_key includes callers of an open gateway.",
  }),
  userPathHeader: setting({
    path: "server.user_path_header",
    env: "USER_PATH_HEADER",
    kind: headerName,
    defaultValue: "x-sluice-user-path",
    meaning: "Header in which a master-key caller names its user path.",
  }),
  bodyBytesMax: setting({
    path: "server.max_body_bytes",
    kind: integer({ min: 1024, max: 1_073_741_824 }, "bytes"),
    defaultValue: 33_554_432,
    meaning: "Largest request body; beyond it 413.",
  }),
  uploadBytesMax: setting({
    path: "server.max_upload_bytes",
    kind: integer({ min: 1024, max: 1_099_511_627_776 }, "bytes"),
    defaultValue: 536_870_912,
    meaning: "Largest upload of audio or files; beyond it 413. Uploads aren't held in memory.",
  }),
  heldBytesMax: setting<number | null>({
    path: "server.max_held_bytes",
    kind: integer({ min: 1_048_576, max: 1_099_511_627_776 }, "bytes"),
    defaultValue: null,
    defaultText: "a quarter of the memory, at most 2 GiB",
    example: "268435456",
    meaning: "Memory for requests and answers; beyond it 503.",
  }),
  connectionsMax: setting({
    path: "server.max_connections",
    kind: integer({ min: 1, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning: "Connections, and requests, of a proxy; beyond it 503.",
  }),
  drainMs: setting({
    path: "server.drain_seconds",
    kind: seconds({ min: 0, max: 3600, allowsZero: true }),
    defaultValue: 25_000,
    meaning: "Time for running requests to finish when a proxy stops.",
  }),
  drainGraceMs: setting({
    path: "server.drain_grace_seconds",
    env: "SLUICE_DRAIN_GRACE_SECONDS",
    kind: seconds({ min: 0, max: 3600, allowsZero: true }),
    defaultValue: 2_000,
    meaning: "Time for load balancers: a stopping proxy accepts requests while /ready answers 503.",
  }),
  reloadDrainMs: setting({
    path: "server.reload_drain_seconds",
    kind: seconds({ min: 0, max: 86_400, allowsZero: true }),
    defaultValue: 600_000,
    meaning: "Time for running requests to finish when a reload replaces their proxy.",
  }),
  stalledClientMs: setting({
    path: "server.stalled_client_seconds",
    kind: seconds({ min: 0.1, max: 3600, allowsZero: false }),
    defaultValue: 60_000,
    meaning: "Time after which Sluice closes a connection whose client doesn't read.",
  }),
  streamKeepAliveMs: setting({
    path: "server.stream_keep_alive_seconds",
    kind: seconds({ min: 0.1, max: 3600, allowsZero: true }),
    defaultValue: 0,
    meaning: "Silence of a stream after which its client gets a keep-alive; 0: never.",
  }),
  requestIdInRefusals: setting({
    path: "server.request_id_in_refusals",
    kind: boolean,
    defaultValue: false,
    meaning: "Adds request_id to the body of Sluice's 429s.",
  }),
} as const;

const tlsSettings = {
  tlsCertFile: setting({
    path: "server.tls.cert_file",
    env: "SLUICE_TLS_CERT_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/tls/tls.crt",
    meaning:
      "PEM file with the certificate and its intermediate ones; server.port and server.admin.port then speak TLS.",
  }),
  tlsKeyFile: setting({
    path: "server.tls.key_file",
    env: "SLUICE_TLS_KEY_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/tls/tls.key",
    meaning: "PEM file with the certificate's private key.",
  }),
  tlsClientCaFile: setting({
    path: "server.tls.client_ca_file",
    env: "SLUICE_TLS_CLIENT_CA_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/tls/ca.crt",
    meaning: "PEM file with the authorities of client certificates, which are then required.",
  }),
  tlsClientId: setting<string | null>({
    path: "server.tls.client_id",
    env: "SLUICE_TLS_CLIENT_ID",
    kind: text,
    defaultValue: null,
    example: '"spiffe://cluster.local/ns/{namespace}/sa/{account}"',
    meaning:
      "Pattern of the URI or DNS name in client certificates that need no other credential; a part in braces matches one segment.",
  }),
  tlsUserPath: setting<string | null>({
    path: "server.tls.user_path",
    env: "SLUICE_TLS_USER_PATH",
    kind: text,
    defaultValue: null,
    example: '"/{namespace}/{account}"',
    meaning: "The user path of such a client, with the parts in braces of server.tls.client_id.",
  }),
} as const;

/**
 * The settings of the daemon and of the connection to it, by their names in `Config.limiter`. The
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
    meaning: "Unix socket between proxies and daemon, at most 107 bytes.",
  }),
  adminSocket: setting({
    path: "limiter.admin_socket",
    env: "SLUICE_ADMIN_SOCKET",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/run/sluice/limiterd-admin.sock",
    meaning: "Unix socket for administration, open to the daemon's user only, at most 107 bytes.",
  }),
  socketGroupAccess: setting({
    path: "limiter.socket_group_access",
    kind: boolean,
    defaultValue: false,
    meaning: "Opens limiter.socket to the daemon's group.",
  }),
  dataDir: setting({
    path: "limiter.data_dir",
    env: "SLUICE_DATA_DIR",
    flag: "dataDir",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/var/lib/sluice",
    meaning: "Directory of the daemon's store.",
  }),
  spoolDir: setting({
    path: "limiter.spool_dir",
    env: "SLUICE_SPOOL_DIR",
    kind: filePath,
    defaultValue: null,
    defaultText: "see below",
    example: "/var/lib/sluice/spool",
    meaning: "Directory where a stopping proxy leaves unacknowledged charges for the next proxy.",
  }),
  failureMode: setting<"closed" | "open">({
    path: "limiter.failure_mode",
    env: "LIMITER_FAILURE_MODE",
    kind: choice(["closed", "open"]),
    defaultValue: "closed",
    meaning:
      "Without the daemon: closed refuses model requests with 503, open admits and counts them later.",
  }),
  deadlineMs: setting({
    path: "limiter.deadline_ms",
    kind: integer({ min: 1, max: 60_000 }, "milliseconds"),
    defaultValue: 2000,
    meaning: "Wait for the daemon before failure_mode applies.",
  }),
} as const;

/** What is recorded of requests, by the names in `Config`; `background` has those of its own. */
export const usageSettings = {
  usageEnabled: setting({
    path: "usage.enabled",
    env: "USAGE_ENABLED",
    kind: boolean,
    defaultValue: true,
    meaning: "Tracks usage, which token limits and budgets need.",
  }),
  usageRetentionDays: setting({
    path: "usage.retention_days",
    env: "USAGE_RETENTION_DAYS",
    kind: integer({ min: 1, max: 36_500 }, "days"),
    defaultValue: 400,
    meaning: "Retention of usage records; Sluice keeps daily sums for at least 366 days.",
  }),
  requestDetailsMax: setting({
    path: "usage.request_details",
    env: "USAGE_REQUEST_DETAILS",
    kind: integer({ min: 0, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning:
      "Failed requests whose details Sluice keeps, and the same number of requests that were refused or took several attempts; 0: none.",
  }),
  keepsErrorTexts: setting({
    path: "usage.request_messages",
    kind: boolean,
    defaultValue: true,
    meaning:
      "Keeps error messages in these details; a provider's message may quote the prompt. false keeps codes only.",
  }),
  showsAncestors: setting({
    path: "usage.show_ancestors",
    env: "USAGE_SHOW_ANCESTORS",
    kind: boolean,
    defaultValue: true,
    meaning:
      "Shows a caller the limits that others share with it: above its path, and on models, providers and labels.",
  }),
  auditRetentionDays: setting({
    path: "audit.retention_days",
    env: "AUDIT_RETENTION_DAYS",
    kind: integer({ min: 1, max: 36_500 }, "days"),
    defaultValue: 365,
    meaning: "Retention of the audit log.",
  }),
  backgroundLookMs: setting({
    path: "usage.background_lookup_seconds",
    kind: seconds({ min: 0.1, max: 3600, allowsZero: true }),
    defaultValue: 60_000,
    meaning:
      "Interval at which Sluice asks for the usage of a background response or a batch; 0: never.",
  }),
  backgroundWaitMs: setting({
    path: "usage.background_wait_seconds",
    kind: seconds({ min: 1, max: 518_400, allowsZero: false }),
    defaultValue: 86_400_000,
    meaning: "Time after which the usage of a background response stays unknown.",
  }),
  backgroundMax: setting({
    path: "usage.background_max",
    kind: integer({ min: 0, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning:
      "Background responses and batches to look up; the usage of further ones stays unknown.",
  }),
  storeBytesMax: setting<number | null>({
    path: "usage.max_store_bytes",
    env: "SLUICE_MAX_STORE_BYTES",
    kind: integer({ min: 16 * 1024 * 1024, max: Number.MAX_SAFE_INTEGER }, "bytes"),
    defaultValue: null,
    example: "10737418240",
    meaning: "Size of the store beyond which the daemon removes the oldest usage records.",
  }),
} as const;

const cacheSettings = {
  cacheEnabled: setting({
    path: "cache.enabled",
    env: "CACHE_ENABLED",
    kind: boolean,
    defaultValue: false,
    meaning: "Answers identical requests from the proxy's memory.",
  }),
  cacheTtlMs: setting({
    path: "cache.ttl_seconds",
    env: "CACHE_TTL_SECONDS",
    kind: seconds({ min: 0.001, max: 31_536_000, allowsZero: false }),
    defaultValue: 3_600_000,
    meaning: "Lifetime of a cached answer.",
  }),
  cacheEntriesMax: setting({
    path: "cache.max_entries",
    env: "CACHE_MAX_ENTRIES",
    kind: integer({ min: 1, max: 10_000_000 }),
    defaultValue: 10_000,
    meaning: "Cached answers of a proxy; the least recently used goes first.",
  }),
  cacheBytesMax: setting({
    path: "cache.max_bytes",
    env: "CACHE_MAX_BYTES",
    kind: integer({ min: 1024, max: 68_719_476_736 }, "bytes"),
    defaultValue: 67_108_864,
    meaning: "Memory of a proxy for cached answers.",
  }),
  cacheEntryBytesMax: setting({
    path: "cache.max_entry_bytes",
    env: "CACHE_MAX_ENTRY_BYTES",
    kind: integer({ min: 1024, max: 33_554_432 }, "bytes"),
    defaultValue: 1_048_576,
    meaning: "Largest cached answer.",
  }),
  cacheSharedAcrossPaths: setting({
    path: "cache.share_across_paths",
    env: "CACHE_SHARE_ACROSS_PATHS",
    kind: boolean,
    defaultValue: false,
    meaning: "Shares cached answers between user paths.",
  }),
} as const;

const metricsSettings = {
  metricsToken: setting({
    path: "metrics.token",
    env: "SLUICE_METRICS_TOKEN",
    kind: masterKey,
    defaultValue: null,
    example: '"${SLUICE_METRICS_TOKEN}"',
    meaning: "Token for /metrics and /metrics/limiter only; the master key opens them too.",
  }),
  metricsTokenFile: setting({
    path: "metrics.token_file",
    env: "SLUICE_METRICS_TOKEN_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/metrics-token",
    meaning: "File with this token, read at the start.",
  }),
  metricsHost: setting({
    path: "metrics.host",
    env: "SLUICE_METRICS_HOST",
    kind: host,
    defaultValue: "127.0.0.1",
    meaning: "The address of metrics.port.",
  }),
  metricsPort: setting<number | null>({
    path: "metrics.port",
    env: "SLUICE_METRICS_PORT",
    kind: integer({ min: 0, max: 65_535 }),
    defaultValue: null,
    example: "9464",
    meaning: "Further port for /metrics, /health and /ready; 0 takes any free one.",
  }),
  metricsSeriesMax: setting({
    path: "metrics.series_max",
    kind: integer({ min: 1000, max: 1_000_000 }),
    defaultValue: 10_000,
    meaning: "Series of one proxy; Sluice counts further label sets as other.",
  }),
  metricsRulesMax: setting({
    path: "metrics.rules_max",
    kind: integer({ min: 0, max: 1000 }),
    defaultValue: 500,
    meaning: "Most rules, and most budgets, that have series at /metrics/limiter.",
  }),
  metricsUserPathDepth: setting({
    path: "metrics.user_paths",
    kind: integer({ min: 0, max: 8 }),
    defaultValue: 0,
    meaning:
      "Segments of the user path in the label path of requests, tokens and costs; 0: no such label.",
  }),
} as const;

const tracingSettings = {
  tracePropagation: setting<"private" | "all" | "none">({
    path: "tracing.propagate",
    kind: choice(["private", "all", "none"]),
    defaultValue: "private",
    meaning: "Providers that get traceparent and tracestate; private: those in private networks.",
  }),
  tracingEndpoint: setting({
    path: "tracing.endpoint",
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    kind: baseUrl,
    defaultValue: null,
    example: "http://127.0.0.1:4318",
    meaning:
      "Collector for spans, by OTLP over HTTP; /v1/traces is appended. Without it there are no spans.",
  }),
  tracesEndpoint: setting<string | null>({
    path: "tracing.traces_endpoint",
    env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    kind: webUrl,
    defaultValue: null,
    example: "https://otel.example.com/in/traces",
    meaning: "Complete address for spans; takes precedence over tracing.endpoint.",
  }),
  tracingHeaders: setting({
    path: "tracing.headers",
    env: "OTEL_EXPORTER_OTLP_HEADERS",
    kind: headerList,
    defaultValue: null,
    example: "x-api-key=${COLLECTOR_KEY}",
    meaning: "Headers for the collector: name=value, separated by commas, values percent-encoded.",
  }),
  tracingHeadersFile: setting({
    path: "tracing.headers_file",
    env: "SLUICE_TRACING_HEADERS_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/otlp-headers",
    meaning: "File with these headers, read at the start.",
  }),
  tracingSampler: setting<TraceSampler>({
    path: "tracing.sampler",
    env: "OTEL_TRACES_SAMPLER",
    kind: choice(traceSamplers),
    defaultValue: "parentbased_traceidratio",
    meaning: "Which requests have spans; parentbased_… follows the caller's traceparent first.",
  }),
  tracingSample: setting({
    path: "tracing.sample",
    env: "OTEL_TRACES_SAMPLER_ARG",
    kind: fraction,
    defaultValue: 1,
    meaning: "Part of the requests that have spans, for the samplers with traceidratio.",
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
      "Valkey or Redis through which hosts share limits, or the servers of a Cluster, or Sentinels.",
  }),
  clusterName: setting({
    path: "cluster.name",
    env: "SLUICE_CLUSTER_NAME",
    kind: clusterName,
    defaultValue: "sluice",
    meaning: "Name of the cluster; hosts with the same name share limits.",
  }),
  clusterFailureMode: setting<ClusterFailureMode>({
    path: "cluster.failure_mode",
    env: "SLUICE_CLUSTER_FAILURE_MODE",
    kind: choice(["closed", "local", "open"]),
    defaultValue: "closed",
    meaning:
      "While the Valkey or Redis is away: closed refuses limited requests with 503, local divides limits among the hosts, open admits and counts later.",
  }),
  clusterUsername: setting({
    path: "cluster.username",
    env: "SLUICE_CLUSTER_USERNAME",
    kind: engineWord,
    defaultValue: null,
    example: "sluice",
    meaning: "ACL user, unless the address has one.",
  }),
  clusterPassword: setting({
    path: "cluster.password",
    env: "SLUICE_CLUSTER_PASSWORD",
    kind: enginePassword,
    defaultValue: null,
    example: '"${SLUICE_CLUSTER_PASSWORD}"',
    meaning: "Password, unless the address has one.",
  }),
  clusterPasswordFile: setting({
    path: "cluster.password_file",
    env: "SLUICE_CLUSTER_PASSWORD_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/engine-key",
    meaning: "File with the password, read at each new connection.",
  }),
  clusterCaFile: setting({
    path: "cluster.ca_file",
    env: "SLUICE_CLUSTER_CA_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/engine-ca.pem",
    meaning: "PEM file of trusted certificates, instead of the system's.",
  }),
  clusterSentinelMaster: setting({
    path: "cluster.sentinel_master",
    env: "SLUICE_CLUSTER_SENTINEL_MASTER",
    kind: engineWord,
    defaultValue: null,
    example: "engine",
    meaning:
      "Name of the primary at the Sentinels; cluster.url then has the Sentinels' addresses, user and password.",
  }),
  clusterSentinelPasswordFile: setting({
    path: "cluster.sentinel_password_file",
    env: "SLUICE_CLUSTER_SENTINEL_PASSWORD_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/etc/sluice/sentinel-key",
    meaning: "File with the password of the Sentinels, read at each new connection.",
  }),
} as const;

const ruleSettings = {
  entitlements: setting({
    path: "entitlements",
    env: "SLUICE_ENTITLEMENTS",
    kind: listOfNames(["quota_templates"]),
    defaultValue: [],
    example: "[quota_templates]",
    meaning: "Features to switch on; the only one is quota_templates, which allows per_child.",
  }),
  rateLimitsEnabled: setting({
    path: "rate_limits.enabled",
    env: "RATE_LIMITS_ENABLED",
    kind: boolean,
    defaultValue: true,
    meaning: "Enforces rate limits; false keeps the rules unenforced.",
  }),
  flushIntervalMs: setting({
    path: "rate_limits.flush_interval",
    env: "RATE_LIMITS_FLUSH_INTERVAL",
    kind: seconds({ min: 0.01, max: 3600, allowsZero: true }),
    defaultValue: 1000,
    meaning: "Interval of writing counters to the store; 0: only at a clean stop.",
  }),
  tokenWeights: setting<TokenWeights | null>({
    path: "rate_limits.token_weights",
    env: "RATE_LIMITS_TOKEN_WEIGHTS",
    kind: tokenWeights,
    defaultValue: null,
    defaultText: "1 for each kind",
    example: "{ cached: 0.1, cache_write: 1.25 }",
    meaning: "How many tokens each kind counts as, for rules without their own token_weights.",
  }),
  budgetsEnabled: setting({
    path: "budgets.enabled",
    env: "BUDGETS_ENABLED",
    kind: boolean,
    defaultValue: true,
    meaning: "Enforces budgets; false keeps them unenforced.",
  }),
  budgetsUnpriced: setting<UnpricedChoice>({
    path: "budgets.unpriced",
    env: "BUDGETS_UNPRICED",
    kind: choice(unpricedChoices),
    defaultValue: "allow",
    meaning:
      "Whether callers under a budget may use models without a price, unless the budget has its own unpriced.",
  }),
} as const;

const waitSettings = {
  waitMaxMs: setting({
    path: "waiting.max_seconds",
    env: "WAITING_MAX_SECONDS",
    kind: seconds({ min: 1, max: waitSecondsMax, allowsZero: true }),
    defaultValue: 0,
    meaning: "Longest wait for room under limits instead of a 429; 0: requests don't wait.",
  }),
  waitDefaultMs: setting({
    path: "waiting.default_seconds",
    env: "WAITING_DEFAULT_SECONDS",
    kind: seconds({ min: 1, max: waitSecondsMax, allowsZero: true }),
    defaultValue: 0,
    meaning: "Longest wait of requests without a Prefer: wait header; 0: they don't wait.",
  }),
  waitsOfPaths: setting<readonly WaitOfPath[]>({
    path: "waiting.paths",
    env: "WAITING_PATHS",
    kind: waitsOfPaths,
    defaultValue: [],
    example: "[/agents=300, /batch=600:60]",
    meaning:
      "Longest wait by user path, such as /agents=300; /batch=600:60 also sets the wait without the header. The longest matching path applies.",
  }),
  waitKeepAliveMs: setting({
    path: "waiting.keep_alive_seconds",
    env: "WAITING_KEEP_ALIVE_SECONDS",
    kind: seconds({ min: 0.1, max: 3600, allowsZero: true }),
    defaultValue: 0,
    meaning:
      "Interval at which Sluice tells the client of a waiting stream its place; the first time it sends the status 200; 0: never.",
  }),
} as const;

const adminSettings = {
  oidcIssuer: setting<string | null>({
    path: "admin.oidc.issuer",
    env: "SLUICE_OIDC_ISSUER",
    kind: text,
    defaultValue: null,
    example: "https://login.example.com/",
    meaning:
      "OpenID Connect provider at which people sign in to the dashboard: the issuer named in its tokens.",
  }),
  oidcClientId: setting<string | null>({
    path: "admin.oidc.client_id",
    env: "SLUICE_OIDC_CLIENT_ID",
    kind: text,
    defaultValue: null,
    example: "sluice",
    meaning: "Name of this gateway at the provider.",
  }),
  oidcClientSecret: setting<string | null>({
    path: "admin.oidc.client_secret",
    env: "SLUICE_OIDC_CLIENT_SECRET",
    kind: apiKey,
    defaultValue: null,
    example: '"${OIDC_CLIENT_SECRET}"',
    meaning: "Secret of this gateway at the provider; none for a public client.",
  }),
  oidcClientSecretFile: setting<string | null>({
    path: "admin.oidc.client_secret_file",
    env: "SLUICE_OIDC_CLIENT_SECRET_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/run/secrets/oidc",
    meaning: "File with the secret, read at the start.",
  }),
  oidcRedirectUrl: setting<string | null>({
    path: "admin.oidc.redirect_url",
    env: "SLUICE_OIDC_REDIRECT_URL",
    kind: baseUrl,
    defaultValue: null,
    defaultText: "the gateway's own address",
    example: "https://gateway.example/dashboard/sign-in/callback",
    meaning: "Address to which the provider sends browsers back, as registered there.",
  }),
  oidcScopes: setting<readonly string[]>({
    path: "admin.oidc.scopes",
    kind: list,
    defaultValue: ["openid", "profile", "email"],
    meaning: "Scopes to ask for; they decide which claims the provider sends.",
  }),
  oidcSessionMs: setting<number | null>({
    path: "admin.oidc.session_seconds",
    kind: seconds({ min: 60, max: 43_200, allowsZero: false }),
    defaultValue: null,
    defaultText: "as long as the ID token",
    example: "3600",
    meaning: "Longest session; the next sign-in asks the provider for the person's claims again.",
  }),
  oidcRoles: setting<readonly ClaimedRole[]>({
    path: "admin.oidc.roles",
    kind: claimedRoles,
    defaultValue: [],
    defaultText: "none",
    example: "[{ claim: groups, value: team-leads, role: operator, path: /team }]",
    meaning: "Roles by claims; the first entry that matches a person's claims decides.",
  }),
} as const;

const toolSettings = {
  searchProvider: setting<SearchProvider | "off">({
    path: "tools.web_search.provider",
    kind: choice(["off", ...searchProviders]),
    defaultValue: "off",
    meaning: "Service that Sluice asks when a model's provider can't search the web; off: none.",
  }),
  searchKey: setting<string | null>({
    path: "tools.web_search.api_key",
    env: "WEB_SEARCH_API_KEY",
    kind: apiKey,
    defaultValue: null,
    example: "${TAVILY_API_KEY}",
    meaning: "Key of the search provider.",
  }),
  searchKeyFile: setting<string | null>({
    path: "tools.web_search.api_key_file",
    env: "WEB_SEARCH_API_KEY_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/run/secrets/web-search-key",
    meaning: "File with the key of the search provider, read at the start.",
  }),
  searchBaseUrl: setting<string | null>({
    path: "tools.web_search.base_url",
    kind: baseUrl,
    defaultValue: null,
    defaultText: "the provider's",
    example: "http://127.0.0.1:8888",
    meaning: "Address of the search provider; required for searxng.",
  }),
  searchResultsMax: setting({
    path: "tools.web_search.max_results",
    kind: integer({ min: 1, max: 20 }),
    defaultValue: 5,
    meaning: "Results of one search.",
  }),
  searchesMax: setting({
    path: "tools.web_search.max_searches",
    kind: integer({ min: 1, max: 50 }),
    defaultValue: 8,
    meaning: "Searches for one request; a client may ask for fewer.",
  }),
  searchTimeoutMs: setting({
    path: "tools.web_search.timeout_seconds",
    kind: seconds({ min: 0.1, max: 60, allowsZero: false }),
    defaultValue: 10_000,
    meaning: "Longest wait for a search.",
  }),
  searchUsd: setting({
    path: "tools.web_search.cost_per_search",
    kind: usd,
    defaultValue: 0,
    meaning: "Cost of a search in US dollars, charged to budgets.",
  }),
} as const;

export const settings = {
  ...adminSettings,
  ...serverSettings,
  ...tlsSettings,
  ...limiterSettings,
  ...usageSettings,
  ...cacheSettings,
  ...metricsSettings,
  ...tracingSettings,
  ...clusterSettings,
  ...waitSettings,
  ...toolSettings,
  ...ruleSettings,
  priceListFile: setting<string | null>({
    path: "price_list_file",
    env: "SLUICE_PRICE_LIST_FILE",
    kind: filePath,
    defaultValue: null,
    example: "/var/lib/sluice/prices.json",
    meaning:
      "Price list that `sluice prices update` writes; it replaces the built-in one unless it is older.",
  }),
  logLevel: setting<LogLevel>({
    path: "log_level",
    env: "LOG_LEVEL",
    flag: "logLevel",
    kind: choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]),
    defaultValue: "info",
    meaning: "Least severe level that Sluice logs.",
  }),
  logFormat: setting<LogFormat>({
    path: "log_format",
    env: "LOG_FORMAT",
    kind: choice(["auto", "json", "text"]),
    defaultValue: "auto",
    meaning: "Form of log lines; auto is text at a terminal and JSON elsewhere.",
  }),
  logSample: setting({
    path: "log_sample",
    env: "LOG_SAMPLE",
    kind: fraction,
    defaultValue: 1,
    meaning: "Part of the successful requests that Sluice logs; it logs all others.",
  }),
} as const;

/** The checked value of each setting. */
export type SettingValues = SettingValuesOf<typeof settings>;

/** The variable that names the file itself, so the file can't hold it. */
export const configFileVariable = "SLUICE_CONFIG";

/** The command line's variables for a remote gateway: its URL, and its key in either of two. */
export const remoteVariables = {
  url: "SLUICE_URL",
  key: "SLUICE_API_KEY",
  masterKey: "SLUICE_MASTER_KEY",
} as const;

/** Set by the systemd units for a proxy: where proxies that share a port exchange metrics. */
export const serviceVariables = { workerMetrics: "SLUICE_WORKER_METRICS" } as const;

/** The command-line variable for the password or token of `sluice usage follow`. */
export const followVariables = { secret: "SLUICE_FOLLOW_SECRET" } as const;
