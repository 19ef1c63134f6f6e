/** What docs/reference/metrics.md repeats of the tables of metrics. */
import type { Metric } from "../../../shared/metrics/metric.js";
import { code, meanings } from "../../support/markdown-table.js";

export function tableOfMetrics(metrics: Readonly<Record<string, Metric>>): string {
  return meanings(
    Object.values(metrics).map((metric) => {
      const { name, kind, labels, buckets, help } = metric;
      if (kindByName(metric) !== kind) throw new Error(`${name} doesn't look like a ${kind}`);
      return [
        labels.length === 0 ? code(name) : `${code(name)} ${code(`{${labels.join()}}`)}`,
        buckets.length === 0 ? help : `${help} Buckets: ${buckets[0]} to ${buckets.at(-1)}.`,
      ];
    }),
  );
}

/** The kind that the page says a metric has. */
function kindByName({ name, buckets }: Metric): Metric["kind"] {
  if (buckets.length > 0) return "histogram";
  if (name.endsWith("loop_lag_seconds")) return "summary";
  return name.endsWith("_total") ? "counter" : "gauge";
}
