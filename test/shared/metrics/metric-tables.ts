/** What docs/reference/metrics.md repeats of the tables of metrics. */
import type { Metric } from "../../../shared/metrics/metric.js";
import { code, grouped, meanings } from "../../support/markdown-table.js";

export function tableOfMetrics(metrics: Readonly<Record<string, Metric>>): string {
  const rows = Object.values(metrics).map((metric): readonly [string, string] => {
    const { name, kind, labels, buckets, help } = metric;
    if (kindByName(metric) !== kind) throw new Error(`${name} doesn't look like a ${kind}`);
    if (ofEveryProcess.test(name)) return [code(name), "As in other Prometheus clients."];
    return [
      labels.length === 0 ? code(name) : `${code(name)} ${code(`{${labels.join()}}`)}`,
      buckets.length === 0 ? help : `${help} Buckets: ${buckets[0]} to ${buckets.at(-1)}.`,
    ];
  });
  return meanings(
    grouped(rows, ([, meaning]) => meaning).map(([meaning, alike]) => [
      alike.map(([name]) => name).join(", "),
      meaning,
    ]),
  );
}

/** Prometheus' own clients have these names. */
const ofEveryProcess = /^(?:process_|nodejs_heap_)/;

/** The kind that the page says a metric has. */
function kindByName({ name, buckets }: Metric): Metric["kind"] {
  if (buckets.length > 0) return "histogram";
  if (name.endsWith("loop_lag_seconds")) return "summary";
  return name.endsWith("_total") ? "counter" : "gauge";
}
