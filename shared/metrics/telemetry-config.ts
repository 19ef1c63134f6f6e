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

/** Which providers are told of the trace that a request belongs to (docs/tracing.md). */
export type TracePropagation = "private" | "all" | "none";

interface TracingConfig {
  readonly propagate: TracePropagation;
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
