/** The parts of the configuration that are about metrics, traces and log lines. */
import type { LogFormat } from "../logging/log-format.js";

interface MetricsConfig {
  /** For scrapes; null: there is none, or it is in the file. */
  readonly token: string | null;
  /** An absolute path. */
  readonly tokenFile: string | null;
  readonly seriesMax: number;
  readonly rulesMax: number;
  /** Segments of user paths that are a label; 0: none. */
  readonly userPathDepth: number;
}

/** Which providers get the trace context of a request (docs/reference/tracing.md). */
export type TracePropagation = "private" | "all" | "none";

/** As `OTEL_TRACES_SAMPLER` has them. */
export const traceSamplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;
export type TraceSampler = (typeof traceSamplers)[number];

/** How spans are written: as `OTEL_EXPORTER_OTLP_PROTOCOL` has them, but for gRPC. */
export type TraceProtocol = "http/json" | "http/protobuf";

export interface TracingConfig {
  readonly propagate: TracePropagation;
  /** The whole address that spans are sent to; null: no spans are made. */
  readonly endpoint: string | null;
  readonly protocol: TraceProtocol;
  /** As `parseHeaderList` reads them; null: there are none, or they are in the file. */
  readonly headers: string | null;
  /** An absolute path. */
  readonly headersFile: string | null;
  /** Of `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, each in place of one above with its name. */
  readonly spanHeaders: string | null;
  readonly sampler: TraceSampler;
  /** From 0 to 1, for the samplers with a ratio. */
  readonly sample: number;
}

interface LoggingConfig {
  readonly format: LogFormat;
  /** Which part of the successful requests has lines, from 0 to 1. */
  readonly sample: number;
}

export interface TelemetryConfig {
  readonly metrics: MetricsConfig;
  readonly tracing: TracingConfig;
  readonly logging: LoggingConfig;
}
