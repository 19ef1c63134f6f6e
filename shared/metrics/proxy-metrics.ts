/**
 * The metrics of a proxy (docs/reference/metrics.md). Names that begin with `gen_ai` and `http`
 * follow the OpenTelemetry conventions as Prometheus writes them; `metrics-table.ts` has the
 * version.
 */
import { buckets, metricsOf, shortSeconds } from "./metric.js";

const target = ["provider", "model"];
const generation = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"];

/** Metrics that also have the label `path` if `metrics.user_paths` is set. */
const perPath = [...target, "path"];

export const proxyMetrics = metricsOf("proxy", {
  operationDuration: {
    name: "gen_ai_client_operation_duration_seconds",
    kind: "histogram",
    unit: "seconds",
    labels: [...generation, "error_type"],
    buckets: buckets(0.01, 2, 14),
    help: "Duration of one attempt at a provider; of a stream, until its end.",
  },
  firstChunk: {
    name: "gen_ai_client_operation_time_to_first_chunk_seconds",
    kind: "histogram",
    unit: "seconds",
    labels: generation,
    buckets: buckets(0.01, 2, 14),
    help: "Time until the first chunk of a stream.",
  },
  tokenUsage: {
    name: "gen_ai_client_token_usage",
    kind: "histogram",
    labels: [...generation, "gen_ai_token_type"],
    buckets: buckets(1, 4, 14),
    help: "Input or output tokens of one answer, as the provider reports them.",
  },
  requests: {
    name: "sluice_requests_total",
    kind: "counter",
    labels: ["endpoint", ...perPath, "code", "stream"],
    share: 0.15,
    help: "Ended requests to models, by target and the status that the client got.",
  },
  tokens: {
    name: "sluice_tokens_total",
    kind: "counter",
    labels: [...perPath, "type", "estimated"],
    share: 0.1,
    help: "Charged tokens; input excludes cache reads and writes, so that the types add up.",
  },
  cost: {
    name: "sluice_cost_usd_total",
    kind: "counter",
    labels: perPath,
    share: 0.05,
    help: "Cost in US dollars, by the model's price.",
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
    help: "Upper bound of the tokens of requests whose usage is unknown.",
  },
  refused: {
    name: "sluice_refused_total",
    kind: "counter",
    labels: ["reason", "scope", "dimension"],
    help: "Requests to models that Sluice refused.",
  },
  admission: {
    name: "sluice_admission_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: shortSeconds,
    help: "Wait for the verdict of the limiter daemon.",
  },
  overhead: {
    name: "sluice_overhead_seconds",
    kind: "histogram",
    unit: "seconds",
    buckets: [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.01, 0.02, 0.05, 0.25],
    help: "Time in the proxy before a request is first sent, without waits for the client and the daemon.",
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
    help: "Requests that left a failed provider for another target; the reason is its status, or no_answer.",
  },
  openCircuits: {
    name: "sluice_open_circuits",
    kind: "gauge",
    labels: target,
    help: "Targets with an open circuit: 1, or 0 once the target answers again. Absent before the first opening.",
  },
  streamsCut: {
    name: "sluice_streams_cut_total",
    kind: "counter",
    labels: ["by"],
    help: "Streams that ended early, by cause: client, upstream, deadline, shutdown or hard_cap.",
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
    help: "Charges dropped because too many waited for the limiter daemon.",
  },
  cacheRequests: {
    name: "sluice_cache_requests_total",
    kind: "counter",
    labels: ["result"],
    help: "Look-ups in the response cache: hit or miss.",
  },
  savedTokens: {
    name: "sluice_rewrite_tokens_saved_total",
    kind: "counter",
    help: "Tokens that rewriters removed from prompts, estimated.",
  },
  loops: {
    name: "sluice_loops_total",
    kind: "counter",
    labels: ["action"],
    help: "Requests of agents that repeat themselves or work on without end: warned or refused.",
  },
  toolCalls: {
    name: "sluice_tool_calls_total",
    kind: "counter",
    labels: ["tool"],
    help: "Calls of tools that providers and MCP servers ran.",
  },
  realtimeSessions: {
    name: "sluice_realtime_sessions",
    kind: "gauge",
    help: "Open WebSocket sessions, and streams of MCP servers' notifications.",
  },
  heldBytes: {
    name: "sluice_held_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Bytes of requests and answers in memory.",
  },
  connections: {
    name: "sluice_connections",
    kind: "gauge",
    help: "Open connections of clients.",
  },
  inFlight: {
    name: "sluice_requests_in_flight",
    kind: "gauge",
    help: "Running requests.",
  },
  spans: {
    name: "sluice_spans_total",
    kind: "counter",
    labels: ["result"],
    help: "Ended spans: exported, failed or dropped.",
  },
  leftOut: {
    name: "sluice_metrics_series_left_out_total",
    kind: "counter",
    help: "New sets of labels counted as other because of metrics.series_max.",
  },
  cpu: {
    name: "process_cpu_seconds_total",
    kind: "counter",
    unit: "seconds",
    help: "User and system CPU time.",
  },
  residentMemory: {
    name: "process_resident_memory_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Resident memory.",
  },
  heap: {
    name: "nodejs_heap_size_used_bytes",
    kind: "gauge",
    unit: "bytes",
    help: "Used JavaScript heap.",
  },
  startTime: {
    name: "process_start_time_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "Start of the process.",
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
    help: "Delay of event loop turns since the last scrape.",
  },
  reloadSucceeded: {
    name: "sluice_config_last_reload_successful",
    kind: "gauge",
    help: "Success of the last attempt to read the configuration: 1, or 0 after a failed reload.",
  },
  reloadedAt: {
    name: "sluice_config_last_reload_success_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the configuration in force was read.",
  },
  priceListDate: {
    name: "sluice_price_list_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "Date of the price list in force; NaN without one.",
  },
  config: {
    name: "sluice_config_info",
    kind: "gauge",
    labels: ["hash"],
    help: "Always 1; the hash is that of the configuration in force, without secrets.",
  },
  stopDrained: {
    name: "sluice_last_stop_drained",
    kind: "gauge",
    help: "Whether the last proxy that ended here finished all requests: 1, or 0 if it was killed or cut some. Absent before the first end.",
  },
  stoppedAt: {
    name: "sluice_last_stop_timestamp_seconds",
    kind: "gauge",
    unit: "seconds",
    help: "When the last proxy ended; of a killed one, when the next proxy noticed.",
  },
  build: {
    name: "sluice_build_info",
    kind: "gauge",
    labels: ["version", "node"],
    help: "Always 1; the versions of this proxy and of Node.",
  },
});
