/**
 * The metrics of a proxy (docs/reference/metrics.md). Names that begin with `gen_ai` and `http`
 * are those of the OpenTelemetry conventions, as Prometheus writes them; `metrics-table.ts` says
 * of which version.
 */
import { buckets, metricsOf, shortSeconds } from "./metric.js";

const target = ["provider", "model"];
const generation = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"];

/** Those that get the label `path` too, if `metrics.user_paths` is set. */
const perPath = [...target, "path"];

export const proxyMetrics = metricsOf("proxy", {
  operationDuration: {
    name: "gen_ai_client_operation_duration_seconds",
    kind: "histogram",
    unit: "seconds",
    labels: [...generation, "error_type"],
    buckets: buckets(0.01, 2, 14),
    help: "Duration of one attempt at a provider, a stream's to its end.",
  },
  firstChunk: {
    name: "gen_ai_client_operation_time_to_first_chunk_seconds",
    kind: "histogram",
    unit: "seconds",
    labels: generation,
    buckets: buckets(0.01, 2, 14),
    help: "Time from sending a streaming request to the first chunk of its answer.",
  },
  tokenUsage: {
    name: "gen_ai_client_token_usage",
    kind: "histogram",
    labels: [...generation, "gen_ai_token_type"],
    buckets: buckets(1, 4, 14),
    help: "Tokens of one answer, as the provider reports them: its whole input, or its output.",
  },
  requests: {
    name: "sluice_requests_total",
    kind: "counter",
    labels: ["endpoint", ...perPath, "code", "stream"],
    share: 0.15,
    help: "Requests to models that have ended, by the target and the status that the client got.",
  },
  tokens: {
    name: "sluice_tokens_total",
    kind: "counter",
    labels: [...perPath, "type", "estimated"],
    share: 0.1,
    help: "Tokens that were charged; input is what was neither read from a provider's cache nor written to it, so that the types add up.",
  },
  cost: {
    name: "sluice_cost_usd_total",
    kind: "counter",
    labels: perPath,
    share: 0.05,
    help: "What requests have cost, in US dollars, by the price of their model.",
  },
  unpriced: {
    name: "sluice_unpriced_requests_total",
    kind: "counter",
    labels: target,
    help: "Requests with usage whose model has no price.",
  },
  unknownTokens: {
    name: "sluice_unknown_tokens_total",
    kind: "counter",
    labels: target,
    help: "Tokens that requests whose usage isn't known may have used at most; what they were charged is in the tokens.",
  },
  refused: {
    name: "sluice_refused_total",
    kind: "counter",
    labels: ["reason", "scope", "dimension"],
    help: "Requests to models that Sluice refused: by a limit, for want of a valid key, or without the daemon.",
  },
  admission: {
    name: "sluice_admission_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: shortSeconds,
    help: "Time that a request waited for the verdict of the limiter daemon.",
  },
  overhead: {
    name: "sluice_overhead_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.01, 0.02, 0.05, 0.25],
    help: "Time in the proxy before a request is first sent to a provider, without waits for the client and the daemon.",
  },
  httpDuration: {
    name: "http_server_request_duration_seconds",
    kind: "histogram",
    unit: "seconds",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    help: "Duration of HTTP requests to this proxy.",
  },
  failovers: {
    name: "sluice_failovers_total",
    kind: "counter",
    labels: ["from", "reason"],
    help: "Requests that went to another target because this provider failed: its status, or no_answer.",
  },
  openCircuits: {
    name: "sluice_open_circuits",
    kind: "gauge",
    labels: target,
    help: "Targets left alone because they keep failing: 1 for a model with its own name, 0 once it answers again. Absent if it never was left alone.",
  },
  streamsCut: {
    name: "sluice_streams_cut_total",
    kind: "counter",
    labels: ["by"],
    help: "Streams that broke off: the client left, the provider broke off or exceeded a deadline, what it said has no form in the client's dialect, or the proxy stopped.",
  },
  limiterReachable: {
    name: "sluice_limiter_reachable",
    kind: "gauge",
    help: "Whether the limiter daemon answers this proxy: 1 or 0.",
  },
  limiterDegraded: {
    name: "sluice_limiter_degraded_seconds_total",
    kind: "counter",
    unit: "seconds",
    help: "Time without the limiter daemon, in which limiter.failure_mode applied.",
  },
  unsettled: {
    name: "sluice_unsettled_charges",
    kind: "gauge",
    help: "Charges that the limiter daemon hasn't acknowledged.",
  },
  droppedCharges: {
    name: "sluice_charges_dropped_total",
    kind: "counter",
    help: "Charges that were dropped because too many waited for the limiter daemon.",
  },
  cacheRequests: {
    name: "sluice_cache_requests_total",
    kind: "counter",
    labels: ["result"],
    help: "Requests that the response cache was asked for: hit or miss.",
  },
  savedTokens: {
    name: "sluice_rewrite_tokens_saved_total",
    kind: "counter",
    help: "Tokens that rewriters took out of prompts, estimated.",
  },
  realtimeSessions: {
    name: "sluice_realtime_sessions",
    kind: "gauge",
    help: "Open WebSocket sessions.",
  },
  heldBytes: {
    name: "sluice_held_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Bytes of requests and answers that are held in memory.",
  },
  connections: {
    name: "sluice_connections",
    kind: "gauge",
    help: "Open connections of clients.",
  },
  inFlight: {
    name: "sluice_requests_in_flight",
    kind: "gauge",
    help: "Requests that run.",
  },
  spans: {
    name: "sluice_spans_total",
    kind: "counter",
    labels: ["result"],
    help: "Spans that have ended: exported to the collector, failed to be, or dropped because too many waited.",
  },
  leftOut: {
    name: "sluice_metrics_series_left_out_total",
    kind: "counter",
    help: "New sets of labels that were counted as other, because metrics.series_max was reached.",
  },
  cpu: {
    name: "process_cpu_seconds_total",
    kind: "counter",
    unit: "seconds",
    help: "User and system CPU time of the process.",
  },
  residentMemory: {
    name: "process_resident_memory_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Resident memory of the process.",
  },
  heap: {
    name: "nodejs_heap_size_used_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Used heap of JavaScript.",
  },
  startTime: {
    name: "process_start_time_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the process started, in seconds since the epoch.",
  },
  openFiles: {
    name: "process_open_fds",
    kind: "gauge",
    help: "Open file descriptors.",
  },
  loopLag: {
    name: "nodejs_eventloop_lag_seconds",
    kind: "summary",
    unit: "seconds",
    quantiles: [0.5, 0.9, 0.99, 1],
    help: "By how much turns of the event loop were late, since the last scrape.",
  },
  reloadSucceeded: {
    name: "sluice_config_last_reload_successful",
    kind: "gauge",
    help: "Whether the last attempt to read the configuration succeeded: 1 from a start on, 0 once a reload has failed.",
  },
  reloadedAt: {
    name: "sluice_config_last_reload_success_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the configuration that is in force was read, in seconds since the epoch.",
  },
  config: {
    name: "sluice_config_info",
    kind: "gauge",
    labels: ["hash"],
    help: "The configuration that is in force, by a hash of it without its secrets: always 1.",
  },
  stopDrained: {
    name: "sluice_last_stop_drained",
    kind: "gauge",
    help: "Whether the last proxy that ended here let all requests finish: 1, or 0 if it was killed or cut some. Absent before the first end.",
  },
  stoppedAt: {
    name: "sluice_last_stop_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the last proxy ended, in seconds since the epoch; if it was killed, when the next one noticed.",
  },
  build: {
    name: "sluice_build_info",
    kind: "gauge",
    labels: ["version", "node"],
    help: "The release of this proxy and its Node: always 1.",
  },
});
