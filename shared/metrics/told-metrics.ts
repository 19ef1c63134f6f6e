/**
 * The metrics of proxies that one supervisor has, as they tell them to each other through it, or of
 * those that share a port, as they tell them to each other: any of them answers for all. A
 * supervisor adds up what each counts; what each reads of itself isn't added up.
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
 * them unasked. `reload-failed`: the supervisor sends it to each proxy.
 */
export type MetricsMessage =
  | { readonly metrics: "ask" | "tell" | "reload-failed"; readonly id: number }
  | ({ readonly metrics: "told" | "all"; readonly id: number } & ToldMetrics);

const namesOf = (metrics: readonly Metric[]): ReadonlySet<string> =>
  new Set(metrics.map(({ name }) => name));
const countedNames = namesOf(Object.values<Metric>(proxyMetrics).filter(isCounted));
const readNames = namesOf(Object.values<Metric>(proxyMetrics).filter((each) => !isCounted(each)));

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

/** A message as it came: `odd` counts the series that were left out because they make no sense. */
type HeardMetrics = MetricsMessage & { readonly odd: number };

/** Names of models and user paths are shorter. */
const labelCharsMax = 4_096;

/** Null for anything else that one process sends another. */
export function parseMetricsMessage(message: unknown): HeardMetrics | null {
  if (!isObject(message) || typeof message["id"] !== "number") return null;
  const { metrics, id } = message;
  if (metrics === "ask" || metrics === "tell" || metrics === "reload-failed")
    return { metrics, id, odd: 0 };
  if (metrics !== "told" && metrics !== "all") return null;
  const counted = seriesIn(message["counted"], "counted");
  const read = seriesIn(message["read"], "read");
  return { metrics, id, counted: counted.fine, read: read.fine, odd: counted.odd + read.odd };
}

interface HeardSeries {
  readonly fine: readonly ToldSeries[];
  readonly odd: number;
}

/** Those of one list that make sense, each set of labels once: of two, one is wrong. */
function seriesIn(list: unknown, among: keyof ToldMetrics): HeardSeries {
  if (!Array.isArray(list)) return { fine: [], odd: 1 };
  const seen = new Set<string>();
  const fine = (list as unknown[]).filter((one): one is ToldSeries => {
    if (!isToldSeries(one, among)) return false;
    const size = seen.size;
    return seen.add(JSON.stringify([one[0], one[1]])).size > size;
  });
  return { fine, odd: list.length - fine.length };
}

/** How many labels and values it has is another release's business, if this one doesn't know it. */
function isToldSeries(one: unknown, among: keyof ToldMetrics): one is ToldSeries {
  if (!Array.isArray(one) || one.length !== 3) return false;
  const [name, labels, values] = one as unknown[];
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

/** What is counted is never less than nothing; JSON has infinite numbers, as 1e999. */
function isValues(values: unknown, isCount: boolean): boolean {
  return (
    Array.isArray(values) &&
    values.length > 0 &&
    values.every((value) => Number.isFinite(value) && !(isCount && Number(value) < 0))
  );
}
