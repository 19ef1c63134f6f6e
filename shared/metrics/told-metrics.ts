/**
 * The metrics of proxies that one supervisor has, as they tell them to each other through it, or of
 * those that share a port, as they tell them to each other: any of them answers for all. A
 * supervisor adds up what each counts; what each reads of itself nobody does.
 */
import { isObject } from "../checked.js";
import type { Metric } from "./metric.js";
import { familiesOf, type ToldSeries } from "./metrics-answer.js";
import { proxyMetrics } from "./proxy-metrics.js";
import type { Family } from "./series.js";

export interface ToldMetrics {
  /** Counters and histograms. */
  readonly counted: readonly ToldSeries[];
  /** Gauges and summaries. */
  readonly read: readonly ToldSeries[];
}

/**
 * What a proxy and its supervisor say to each other. `ask`: a proxy wants those of all; `all`: the
 * answer to it. `tell`: the supervisor wants a proxy's own; `told`: these. A proxy that ends tells
 * them unasked.
 */
export type MetricsMessage =
  | { readonly metrics: "ask" | "tell"; readonly id: number }
  | ({ readonly metrics: "told" | "all"; readonly id: number } & ToldMetrics);

export function tellMetrics(families: readonly Family[]): ToldMetrics {
  const told = { counted: [] as ToldSeries[], read: [] as ToldSeries[] };
  for (const { metric, series } of families) {
    const list = isCounted(metric) ? told.counted : told.read;
    for (const { labels, values } of series) list.push([metric.name, labels, [...values]]);
  }
  return told;
}

/**
 * The families of all proxies: what each has read of itself has the label `proxy`, and so has what
 * each has counted, unless these are sums.
 */
export function familiesOfAll({ counted, read }: ToldMetrics, areSums: boolean): readonly Family[] {
  const metrics = Object.values<Metric>(proxyMetrics).map((metric) =>
    isCounted(metric) && areSums ? metric : { ...metric, labels: [...metric.labels, "proxy"] },
  );
  return familiesOf({ series: [...counted, ...read] }, metrics);
}

function isCounted({ kind }: Metric): boolean {
  return kind === "counter" || kind === "histogram";
}

/** Null for anything else that one process sends another. */
export function parseMetricsMessage(message: unknown): MetricsMessage | null {
  if (!isObject(message) || typeof message["id"] !== "number") return null;
  const { metrics, id } = message;
  if (metrics === "ask" || metrics === "tell") return { metrics, id };
  if (metrics !== "told" && metrics !== "all") return null;
  return { metrics, id, counted: seriesIn(message["counted"]), read: seriesIn(message["read"]) };
}

function seriesIn(list: unknown): readonly ToldSeries[] {
  return Array.isArray(list) ? (list as unknown[]).filter(isToldSeries) : [];
}

function isToldSeries(one: unknown): one is ToldSeries {
  if (!Array.isArray(one)) return false;
  const [name, labels, values] = one as unknown[];
  return typeof name === "string" && Array.isArray(labels) && Array.isArray(values);
}
