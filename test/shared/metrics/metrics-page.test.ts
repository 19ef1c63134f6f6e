/** Holds docs/reference/metrics.md to the table of metrics. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { pathsMax, unvouchedModelsMax } from "../../../proxy/metrics/bounded-labels.js";
import { limiterMetrics } from "../../../shared/metrics/limiter-metrics.js";
import type { Metric } from "../../../shared/metrics/metric.js";
import { semanticConventions } from "../../../shared/metrics/metrics-table.js";
import { proxyMetrics } from "../../../shared/metrics/proxy-metrics.js";
import { root } from "../../tidy/source-tree.js";

const page = readFileSync(join(root, "docs/reference/metrics.md"), "utf8");

function rowOf({ name, kind, labels, buckets, help }: Metric): string {
  const named = labels.map((label) => `\`${label}\``).join(", ");
  const bounds = buckets.length === 0 ? "" : ` Buckets: ${buckets.join(", ")}.`;
  return `| \`${name}\` | ${kind} | ${named === "" ? "–" : named} | ${help}${bounds} |`;
}

t.test("the page has the tables as they are in the code", async (t) => {
  for (const [heading, metrics] of [
    ["## Of a proxy", proxyMetrics],
    ["## Of the limiter daemon", limiterMetrics],
  ] as const) {
    const section = page.slice(page.indexOf(`${heading}\n`)).split("\n## ")[0]!;
    const rows = section.split("\n").filter((line) => line.startsWith("| `"));
    t.same(rows, Object.values<Metric>(metrics).map(rowOf), heading);
  }
});

t.test("the page says which conventions the names follow, and the bounds of labels", async (t) => {
  t.match(page, `version ${semanticConventions}`);
  t.match(page, `${unvouchedModelsMax} such models`);
  t.match(page, `${pathsMax.toLocaleString("en")} of them`);
});
