/** The part of the configuration that is about /metrics (docs/metrics.md). */
export interface MetricsConfig {
  /** For scrapes; null: there is none, or it is in the file. */
  readonly token: string | null;
  /** An absolute path. */
  readonly tokenFile: string | null;
  readonly seriesMax: number;
  readonly rulesMax: number;
  /** Segments of user paths that are a label; 0: none. */
  readonly userPathDepth: number;
}
