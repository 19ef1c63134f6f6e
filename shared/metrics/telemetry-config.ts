/** The configuration of metrics, traces and log lines. */
import type { LogFormat } from "../logging/log-format.js";

interface MetricsConfig {
  /** The token for scrapes; null if there is none, or it is in the file. */
  readonly token: string | null;
  /** An absolute path. */
  readonly tokenFile: string | null;
  /** The separate listener for metrics; null without one. */
  readonly listen: { readonly host: string; readonly port: number } | null;
  readonly seriesMax: number;
  readonly rulesMax: number;
  /** The number of path segments in the label `path`; 0 for no such label. */
  readonly userPathDepth: number;
}

/** The providers that receive the trace context of a request (docs/reference/tracing.md). */
export type TracePropagation = "private" | "all" | "none";

/** The values of `OTEL_TRACES_SAMPLER`. */
export const traceSamplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;
export type TraceSampler = (typeof traceSamplers)[number];

/** The encoding of spans: the values of `OTEL_EXPORTER_OTLP_PROTOCOL` except gRPC. */
export type TraceProtocol = "http/json" | "http/protobuf";

export interface TracingConfig {
  readonly propagate: TracePropagation;
  /** The full URL that spans are sent to; null if tracing is off. */
  readonly endpoint: string | null;
  readonly protocol: TraceProtocol;
  /** In the form of `parseHeaderList`; null if there are none, or they are in the file. */
  readonly headers: string | null;
  /** An absolute path. */
  readonly headersFile: string | null;
  /** `OTEL_EXPORTER_OTLP_TRACES_HEADERS`; each overrides the header above with its name. */
  readonly spanHeaders: string | null;
  readonly sampler: TraceSampler;
  /** From 0 to 1, for samplers with a ratio. */
  readonly sample: number;
}

interface LoggingConfig {
  readonly format: LogFormat;
  /** The share of successful requests that are logged, from 0 to 1. */
  readonly sample: number;
}

export interface TelemetryConfig {
  readonly metrics: MetricsConfig;
  readonly tracing: TracingConfig;
  readonly logging: LoggingConfig;
}
