/**
 * The form of a row in the tables of metrics. Not here: the counting (`proxy/metrics/`,
 * `limiterd/state.ts`). `docs/reference/metrics.md` is checked against the tables.
 */

/** `summary`: quantiles that the process itself measures, over the time since the last scrape. */
type MetricKind = "counter" | "gauge" | "histogram" | "summary";

/**
 * `proxy`: served at /metrics of each proxy. `limiter`: at /metrics/limiter of any proxy of the
 * host.
 */
type MeasuredProcess = "proxy" | "limiter";

export interface Metric {
  /** As in the text format; the name of a counter ends with `_total`. */
  readonly name: string;
  readonly kind: MetricKind;
  /** A base unit of Prometheus, with which the name ends; null for a plain count. */
  readonly unit: "seconds" | "bytes" | null;
  readonly labels: readonly string[];
  /** For a histogram: upper bounds, ascending, without infinity. */
  readonly buckets: readonly number[];
  /** For a summary. */
  readonly quantiles: readonly number[];
  /**
   * The part of `metrics.series_max` reserved for it, so that other metrics always leave it room;
   * 0: it shares the rest with all others.
   */
  readonly share: number;
  readonly process: MeasuredProcess;
  /** One sentence. */
  readonly help: string;
}

/** The fields that a row sets; the others have defaults. */
type Row = Pick<Metric, "name" | "kind" | "help"> & Partial<Metric>;

/** The rows of one process. */
export function metricsOf<Name extends string>(
  process: MeasuredProcess,
  rows: Readonly<Record<Name, Row>>,
): Readonly<Record<Name, Metric>> {
  const filled = Object.entries<Row>(rows).map(([name, row]): [string, Metric] => [
    name,
    { unit: null, labels: [], buckets: [], quantiles: [], share: 0, process, ...row },
  ]);
  return Object.fromEntries(filled) as Record<Name, Metric>;
}

/** `count` buckets, each `factor` times the one before. */
export function buckets(first: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}

/** Buckets in seconds, from a fraction of a millisecond to seconds. */
export const shortSeconds = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5,
];
