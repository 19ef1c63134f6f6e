/** The daemon's metrics as it sends them to a proxy, which writes the text. */
import { bad, type Checked, good, isObject } from "../checked.js";
import { limiterMetrics } from "./limiter-metrics.js";
import type { Metric } from "./metric.js";
import { type Family, newSeries, type Series } from "./series.js";

/** One series: the metric's name, its labels and its numbers. */
export type ReportedSeries = readonly [
  name: string,
  labels: readonly string[],
  values: readonly number[],
];

export interface MetricsAnswer {
  readonly series: readonly ReportedSeries[];
}

/** The proxy's question: the maximum number of rules, and of budgets, that get series. */
export function parseMetricsQuestion(body: unknown): Checked<number> {
  const max = isObject(body) ? body["rules_max"] : null;
  return typeof max === "number" && Number.isInteger(max) && max >= 0 && max <= 1000
    ? good(max)
    : bad("rules_max must be an integer from 0 to 1000", "rules_max");
}

/**
 * The families of an answer in the order of the table, by default the daemon's. Series that the
 * table doesn't have in this form come from another release and are ignored.
 */
export function familiesOf(
  answer: unknown,
  metrics: readonly Metric[] = Object.values(limiterMetrics),
): readonly Family[] {
  const answered = isObject(answer) && Array.isArray(answer["series"]) ? answer["series"] : [];
  const byName = new Map<string, { readonly metric: Metric; readonly series: Series[] }>(
    metrics.map((metric) => [metric.name, { metric, series: [] }]),
  );
  for (const entry of answered as readonly unknown[]) {
    if (!Array.isArray(entry)) continue;
    const [name, labels, values] = entry as unknown[];
    const family = byName.get(String(name));
    if (family === undefined || !isTexts(labels) || !isNumbers(values)) continue;
    const series = newSeries(family.metric, labels);
    if (labels.length !== family.metric.labels.length || values.length !== series.values.length)
      continue;
    series.values.set(values);
    family.series.push(series);
  }
  return [...byName.values()];
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => typeof item === "number");
}
