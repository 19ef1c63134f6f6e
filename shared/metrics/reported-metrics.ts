/**
 * The metrics that proxies exchange, through their supervisor or directly if they share a port, so
 * that any of them can answer a scrape for all. A supervisor adds up counters and histograms, but
 * not gauges and summaries.
 */
import { isObject } from "../checked.js";
import type { Metric } from "./metric.js";
import { familiesOf, type ReportedSeries } from "./metrics-answer.js";
import { proxyMetrics } from "./proxy-metrics.js";
import type { Family } from "./series.js";

export interface ReportedMetrics {
  /** Counters and histograms. */
  readonly counted: readonly ReportedSeries[];
  /** Gauges and summaries. */
  readonly read: readonly ReportedSeries[];
}

/**
 * Messages between a proxy and its supervisor. `ask`: a proxy requests the metrics of all; `all`:
 * the answer. `report`: the supervisor requests a proxy's own; `reported`: the answer, which a
 * stopping proxy also sends on its own. `reload-failed`: from the supervisor to each proxy.
 */
export type MetricsMessage =
  | { readonly metrics: "ask" | "report" | "reload-failed"; readonly id: number }
  | ({ readonly metrics: "reported" | "all"; readonly id: number } & ReportedMetrics);

const namesOf = (metrics: readonly Metric[]): ReadonlySet<string> =>
  new Set(metrics.map(({ name }) => name));
const countedNames = namesOf(Object.values<Metric>(proxyMetrics).filter(isCounted));
const readNames = namesOf(
  Object.values<Metric>(proxyMetrics).filter((metric) => !isCounted(metric)),
);

export function reportMetrics(families: readonly Family[]): ReportedMetrics {
  const reported = { counted: [] as ReportedSeries[], read: [] as ReportedSeries[] };
  for (const { metric, series } of families) {
    const list = isCounted(metric) ? reported.counted : reported.read;
    for (const { labels, values } of series) list.push([metric.name, labels, [...values]]);
  }
  return reported;
}

/**
 * The families of all proxies. Gauges and summaries have the label `proxy`; so do counters and
 * histograms, unless they are sums.
 */
export function familiesOfAll(
  { counted, read }: ReportedMetrics,
  areSums: boolean,
): readonly Family[] {
  const metrics = Object.values<Metric>(proxyMetrics).map((metric) =>
    isCounted(metric) && areSums ? metric : { ...metric, labels: [...metric.labels, "proxy"] },
  );
  return familiesOf({ series: [...counted, ...read] }, metrics);
}

function isCounted({ kind }: Metric): boolean {
  return kind === "counter" || kind === "histogram";
}

/** A received message; `odd` is the number of invalid series, which were dropped. */
type ParsedMetrics = MetricsMessage & { readonly odd: number };

/** Longer than any model name or user path. */
const labelCharsMax = 4_096;

/** Null for any other message between processes. */
export function parseMetricsMessage(message: unknown): ParsedMetrics | null {
  if (!isObject(message) || typeof message["id"] !== "number") return null;
  const { metrics, id } = message;
  if (metrics === "ask" || metrics === "report" || metrics === "reload-failed")
    return { metrics, id, odd: 0 };
  if (metrics !== "reported" && metrics !== "all") return null;
  const counted = seriesIn(message["counted"], "counted");
  const read = seriesIn(message["read"], "read");
  return { metrics, id, counted: counted.fine, read: read.fine, odd: counted.odd + read.odd };
}

interface ParsedSeries {
  readonly fine: readonly ReportedSeries[];
  readonly odd: number;
}

/** The valid series of a list. A set of labels may occur only once: the later ones are invalid. */
function seriesIn(list: unknown, among: keyof ReportedMetrics): ParsedSeries {
  if (!Array.isArray(list)) return { fine: [], odd: 1 };
  const keys = new Set<string>();
  const fine = (list as unknown[]).filter((series): series is ReportedSeries => {
    if (!isReportedSeries(series, among)) return false;
    const size = keys.size;
    return keys.add(JSON.stringify([series[0], series[1]])).size > size;
  });
  return { fine, odd: list.length - fine.length };
}

/**
 * Whether a value is a series; the number of labels and values of an unknown metric isn't checked,
 * since another release may know it.
 */
function isReportedSeries(series: unknown, among: keyof ReportedMetrics): series is ReportedSeries {
  if (!Array.isArray(series) || series.length !== 3) return false;
  const [name, labels, values] = series as unknown[];
  if (typeof name !== "string" || name.length > labelCharsMax) return false;
  const isCount = among === "counted";
  const isKnownAsOther = (isCount ? readNames : countedNames).has(name);
  return !isKnownAsOther && isLabels(labels) && isValues(values, isCount);
}

function isLabels(labels: unknown): boolean {
  return (
    Array.isArray(labels) &&
    labels.every((label) => typeof label === "string" && label.length <= labelCharsMax)
  );
}

/** Counts must be ≥ 0 and finite; JSON can express infinity as 1e999. */
function isValues(values: unknown, isCount: boolean): boolean {
  return (
    Array.isArray(values) &&
    values.length > 0 &&
    values.every((value) => Number.isFinite(value) && !(isCount && Number(value) < 0))
  );
}
