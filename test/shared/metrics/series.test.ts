/** The series of a process, and their bound. */
import t from "tap";
import { metricsOf } from "../../../shared/metrics/metric.js";
import { count, linesOf, observe, SeriesTable } from "../../../shared/metrics/series.js";

const metrics = metricsOf("proxy", {
  total: { name: "a_total", kind: "counter", labels: ["x", "y"], help: "A." },
  times: { name: "b", kind: "histogram", labels: ["x"], buckets: [1, 2], help: "B." },
  bare: { name: "c", kind: "gauge", help: "C." },
});
const { total, times, bare } = metrics;

const sizeOf = (table: SeriesTable): number =>
  table
    .families()
    .flatMap(({ metric, series }) => series.map(() => linesOf(metric)))
    .reduce((sum, lines) => sum + lines, 0);

t.test("what is beyond the bound is counted together, and never is more than it", async (t) => {
  for (const seriesMax of [7, 10, 20, 100]) {
    const table = new SeriesTable(Object.values(metrics), seriesMax);
    for (let i = 0; i < 50; i++) {
      count(table.add(total, [`x${i}`, "y"]));
      observe(table.add(times, [`x${i}`]), times.buckets, i);
      t.ok(sizeOf(table) <= seriesMax, `${sizeOf(table)} of ${seriesMax}`);
    }
    const [totals, histograms] = table.families();
    const sum = totals!.series.reduce((all, { values }) => all + values[0]!, 0);
    t.equal(sum, 50, "nothing is lost");
    const own = totals!.series.length + histograms!.series.length;
    const others = [totals, histograms].filter((family) =>
      family!.series.some(({ labels }) => labels.every((label) => label === "other")),
    ).length;
    t.equal(table.leftOut, 100 - (own - others));
  }
});

t.test("a histogram counts each value in one bucket", async (t) => {
  const table = new SeriesTable(Object.values(metrics), 100);
  const series = table.add(times, ["x"]);
  for (const value of [0, 1, 1.5, 2, 3, Number.POSITIVE_INFINITY])
    observe(series, times.buckets, value);
  t.same([...series.values], [2, 2, 2, Number.POSITIVE_INFINITY]);
});

t.test("a metric without labels has its series from the start", async (t) => {
  const table = new SeriesTable(Object.values(metrics), 100);
  t.equal(table.unlabelled(bare), table.families()[2]!.series[0]);
});
