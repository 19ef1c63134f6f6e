/**
 * The row of a metric in the tables beside this file. What is counted where is not here:
 * `proxy/metrics/` and `limiterd/metrics/` do that. `docs/reference/metrics.md` is
 * checked against the tables.
 */

/** `summary`: quantiles that the process measures itself, of the time since the last look. */
type MetricKind = "counter" | "gauge" | "histogram" | "summary";

/** `proxy`: at /metrics of each proxy. `limiter`: at /metrics/limiter of any proxy of the host. */
type MeasuredProcess = "proxy" | "limiter";

export interface Metric {
  /** As the text has it: of a counter it ends with `_total`. */
  readonly name: string;
  readonly kind: MetricKind;
  /** A base unit of Prometheus, which the name ends with; null: a number of things. */
  readonly unit: "seconds" | "bytes" | null;
  readonly labels: readonly string[];
  /** Upper bounds, ascending, without infinity; of a histogram alone. */
  readonly buckets: readonly number[];
  /** Of a summary alone. */
  readonly quantiles: readonly number[];
  /**
   * The part of `metrics.series_max` that is its own, so that no other metric leaves it without
   * room; 0: it shares what is left with the rest.
   */
  readonly share: number;
  readonly process: MeasuredProcess;
  /** One sentence. */
  readonly help: string;
}

/** What a row says; the rest is empty. */
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

/** So many buckets, each `factor` times the one before. */
export function buckets(first: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}

/** In seconds: what takes from a fraction of a millisecond to seconds. */
export const shortSeconds = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5,
];
