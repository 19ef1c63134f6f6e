/** The settings of usage records, metrics and traces: `usage.*`, `metrics.*`, `tracing.*`. */

import { type TraceSampler, traceSamplers } from "../../metrics/telemetry-config.js";
import { boolean, choice } from "../kinds/choice-kinds.js";
import { fraction, integer } from "../kinds/number-kinds.js";
import { headerList, masterKey } from "../kinds/secret-kinds.js";
import { filePath } from "../kinds/text-kinds.js";
import { baseUrl, webUrl } from "../kinds/url-kinds.js";
import { setting } from "./setting.js";

export const usageSettings = {
  usageEnabled: setting({
    path: "usage.enabled",
    env: "USAGE_ENABLED",
    flag: null,
    kind: boolean,
    defaultValue: true,
    defaultText: "true",
    unit: null,
    meaning: "Tracks usage; token limits need it.",
  }),
  usageRetentionDays: setting({
    path: "usage.retention_days",
    env: "USAGE_RETENTION_DAYS",
    flag: null,
    kind: integer({ min: 1, max: 36_500 }),
    defaultValue: 400,
    defaultText: "400",
    unit: "days",
    meaning:
      "How long usage records are kept; their sums per day are kept as long, and at least 366 days.",
  }),
  storeBytesMax: setting<number | null>({
    path: "usage.max_store_bytes",
    env: "SLUICE_MAX_STORE_BYTES",
    flag: null,
    kind: integer({ min: 16 * 1024 * 1024, max: Number.MAX_SAFE_INTEGER }),
    defaultValue: null,
    defaultText: "none",
    unit: "bytes",
    meaning:
      "How much the daemon's store may hold: beyond it the oldest usage records are removed early, and nothing else.",
  }),
} as const;

/** Of /metrics, `metrics.*` in the file. */
export const metricsSettings = {
  metricsToken: setting({
    path: "metrics.token",
    env: "SLUICE_METRICS_TOKEN",
    flag: null,
    kind: masterKey,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "A token that opens /metrics and nothing else; the master key opens it too.",
  }),
  metricsTokenFile: setting({
    path: "metrics.token_file",
    env: "SLUICE_METRICS_TOKEN_FILE",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "A file that holds this token, read when a proxy starts.",
  }),
  metricsSeriesMax: setting({
    path: "metrics.series_max",
    env: null,
    flag: null,
    kind: integer({ min: 1000, max: 1_000_000 }),
    defaultValue: 10_000,
    defaultText: "10000",
    unit: null,
    meaning:
      "How many series one proxy keeps; new sets of labels beyond it are counted together, as other.",
  }),
  metricsRulesMax: setting({
    path: "metrics.rules_max",
    env: null,
    flag: null,
    kind: integer({ min: 0, max: 1000 }),
    defaultValue: 500,
    defaultText: "500",
    unit: null,
    meaning: "How many rules, and how many budgets, have series of their own at /metrics/limiter.",
  }),
  metricsUserPathDepth: setting({
    path: "metrics.user_paths",
    env: null,
    flag: null,
    kind: integer({ min: 0, max: 8 }),
    defaultValue: 0,
    defaultText: "0",
    unit: null,
    meaning:
      "How many segments of the user path are a label of requests, tokens and costs; 0: user paths are no label.",
  }),
} as const;

export const tracingSettings = {
  tracePropagation: setting<"private" | "all" | "none">({
    path: "tracing.propagate",
    env: null,
    flag: null,
    kind: choice(["private", "all", "none"]),
    defaultValue: "private",
    defaultText: "private",
    unit: null,
    meaning:
      "Which providers are sent a request's traceparent and tracestate: those on this host and in private networks, all, or none.",
  }),
  tracingEndpoint: setting({
    path: "tracing.endpoint",
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    flag: null,
    kind: baseUrl,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning:
      "Where spans are sent, by OTLP over HTTP: the address of a collector, to which /v1/traces is appended; without it, none are made.",
  }),
  tracesEndpoint: setting<string | null>({
    path: "tracing.traces_endpoint",
    env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    flag: null,
    kind: webUrl,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning:
      "The whole address that spans are sent to, in place of tracing.endpoint: nothing is appended.",
  }),
  tracingHeaders: setting({
    path: "tracing.headers",
    env: "OTEL_EXPORTER_OTLP_HEADERS",
    flag: null,
    kind: headerList,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning:
      "Headers that the collector is sent, such as a key: name=value, several with commas between, values percent-encoded.",
  }),
  tracingHeadersFile: setting({
    path: "tracing.headers_file",
    env: "SLUICE_TRACING_HEADERS_FILE",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "A file that holds these headers, read when a proxy starts.",
  }),
  tracingSampler: setting<TraceSampler>({
    path: "tracing.sampler",
    env: "OTEL_TRACES_SAMPLER",
    flag: null,
    kind: choice(traceSamplers),
    defaultValue: "parentbased_traceidratio",
    defaultText: "parentbased_traceidratio",
    unit: null,
    meaning:
      "Which requests have spans: parentbased_… follows what a caller's traceparent says, the rest of the name applies to all others.",
  }),
  tracingSample: setting({
    path: "tracing.sample",
    env: "OTEL_TRACES_SAMPLER_ARG",
    flag: null,
    kind: fraction,
    defaultValue: 1,
    defaultText: "1",
    unit: null,
    meaning: "Which part of the requests that is where the sampler is a traceidratio.",
  }),
} as const;
