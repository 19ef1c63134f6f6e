/** The text of metrics, in both formats. */
import fc from "fast-check";
import t from "tap";
import { metricsOf } from "../../../shared/metrics/metric.js";
import { metricsTable } from "../../../shared/metrics/metrics-table.js";
import { count, newSeries, observe, SeriesTable } from "../../../shared/metrics/series.js";
import { type MetricsFormat, writeMetrics } from "../../../shared/metrics/write-metrics.js";
import { anyText } from "../../support/any-text.js";
import { parseMetrics } from "../../support/parse-metrics.js";

const { total, level, times, lag } = metricsOf("proxy", {
  total: { name: "a_total", kind: "counter", labels: ["x", "y"], help: 'Says "a\\b"\nand more.' },
  level: { name: "b_bytes", kind: "gauge", unit: "bytes", help: "B." },
  times: {
    name: "c_seconds",
    kind: "histogram",
    unit: "seconds",
    labels: ["x"],
    buckets: [0.5, 1, 10],
    help: "C.",
  },
  lag: { name: "d_seconds", kind: "summary", quantiles: [0.5, 1], help: "D." },
});

function sample(): SeriesTable {
  const table = new SeriesTable([total, level, times, lag], 1000);
  count(table.add(total, ['q"\\\n', ""]), 2);
  table.unlabelled(level).values[0] = 1e21;
  const series = table.add(times, ["k"]);
  for (const value of [0.5, 0.7, 11]) observe(series, times.buckets, value);
  table.unlabelled(lag).values.set([0.25, 2, 3.5, 4]);
  return table;
}

const text = (table: SeriesTable, format: MetricsFormat): string =>
  [...writeMetrics(table.families(), format)].join("");

t.test("a scrape is written in the text format of Prometheus", async (t) => {
  t.equal(
    text(sample(), "prometheus"),
    `# HELP a_total Says "a\\\\b"\\nand more.
# TYPE a_total counter
a_total{x="q\\"\\\\\\n"} 2
# HELP b_bytes B.
# TYPE b_bytes gauge
b_bytes 1e+21
# HELP c_seconds C.
# TYPE c_seconds histogram
c_seconds_bucket{x="k",le="0.5"} 1
c_seconds_bucket{x="k",le="1"} 2
c_seconds_bucket{x="k",le="10"} 2
c_seconds_bucket{x="k",le="+Inf"} 3
c_seconds_sum{x="k"} 12.2
c_seconds_count{x="k"} 3
# HELP d_seconds D.
# TYPE d_seconds summary
d_seconds{quantile="0.5"} 0.25
d_seconds{quantile="1"} 2
d_seconds_sum 3.5
d_seconds_count 4
`,
  );
});

t.test("OpenMetrics has units, families without _total, and an end", async (t) => {
  const written = text(sample(), "openmetrics");
  t.match(written, '# HELP a Says \\"a\\\\b\\"\\nand more.\n# TYPE a counter\na_total{');
  t.match(written, "# TYPE c_seconds histogram\n# UNIT c_seconds seconds\n");
  t.match(written, 'c_seconds_bucket{x="k",le="1.0"} 2\n');
  t.match(written, 'd_seconds{quantile="1.0"} 2\n');
  t.ok(written.endsWith("d_seconds_count 4\n# EOF\n"));
  t.equal(parseMetrics(written, true).size, 4);
});

t.test("a metric without series isn't written", async (t) => {
  t.equal(text(new SeriesTable([total], 100), "prometheus"), "");
  t.equal(text(new SeriesTable([total], 100), "openmetrics"), "# EOF\n");
});

t.test("whatever a label holds is read again as it was", async () => {
  fc.assert(
    fc.property(anyText(), fc.constantFrom("prometheus", "openmetrics"), (value, format) => {
      const family = { metric: total, series: [newSeries(total, [value, "y"])] };
      const written = [...writeMetrics([family], format)].join("");
      const [only] = parseMetrics(written, format === "openmetrics").values();
      return (only!.samples[0]!.labels["x"] ?? "") === value;
    }),
  );
});

t.test("the strict reader takes nothing that the formats forbid", async (t) => {
  const head = "# HELP a_total A.\n# TYPE a_total counter\n";
  t.equal(parseMetrics(`${head}a_total 1\n`).get("a_total")!.samples.length, 1);
  for (const wrong of [
    `${head}a_total 1`,
    `${head}a_total{x="} 1\n`,
    `${head}a_total{x="1",x="2"} 1\n`,
    `${head}a_total 1\na_total 2\n`,
    `${head}b_total 1\n`,
    `${head}a_total -1\n`,
    `${head}a_total one\n`,
    "a_total 1\n",
    `${head}${head}a_total 1\n`,
  ])
    t.throws(() => parseMetrics(wrong), wrong);
});

t.test("each metric has a name of its own, as Prometheus wants it", async (t) => {
  const names = metricsTable.map(({ name }) => name);
  t.equal(new Set(names).size, names.length);
  for (const { name, kind, unit, labels, buckets, quantiles, help } of metricsTable) {
    t.match(name, /^[a-z][a-z0-9_]*$/);
    t.equal(name.endsWith("_total"), kind === "counter", name);
    if (unit !== null) t.match(name, new RegExp(`_${unit}(?:_total)?$`), name);
    for (const label of labels) t.match(label, /^[a-z][a-z_]*$/);
    t.equal(buckets.length > 0, kind === "histogram", name);
    t.equal(quantiles.length > 0, kind === "summary", name);
    t.same(
      buckets,
      [...buckets].sort((a, b) => a - b),
      name,
    );
    t.match(help, /^[A-Z].*\.$|: always 1\.$/, name);
  }
});
