import t from "tap";
import { proxyMetrics } from "../../../shared/metrics/proxy-metrics.js";
import {
  familiesOfAll,
  parseMetricsMessage,
  reportMetrics,
} from "../../../shared/metrics/reported-metrics.js";
import { count, observe, SeriesTable } from "../../../shared/metrics/series.js";
import { writeMetrics } from "../../../shared/metrics/write-metrics.js";
import { parseMetrics } from "../../support/parse-metrics.js";
import { exactly } from "../../support/patterns/exactly.js";

t.test("what a proxy tells, labelled by its supervisor, is what a scrape of it says", async (t) => {
  const table = new SeriesTable(Object.values(proxyMetrics), 10_000);
  count(table.add(proxyMetrics.refused, ["budget", "path", ""]), 3);
  observe(table.unlabelled(proxyMetrics.admission), proxyMetrics.admission.buckets, 0.002);
  table.unlabelled(proxyMetrics.connections).values[0] = 12;
  table.unlabelled(proxyMetrics.loopLag).values.set([1, 2, 3, 4, 5, 6]);
  const own = [...writeMetrics(table.families(), "prometheus")].join("");
  const message = parseMetricsMessage(
    JSON.parse(JSON.stringify({ metrics: "reported", id: 1, ...reportMetrics(table.families()) })),
  );
  if (message?.metrics !== "reported") throw new Error("it is a message");
  const labelled = (proxy: string): string => {
    const read = message.read.map(
      ([name, labels, values]) => [name, [...labels, proxy], values] as const,
    );
    return [
      ...writeMetrics(familiesOfAll({ counted: message.counted, read }, true), "prometheus"),
    ].join("");
  };
  t.equal(labelled(""), own);
  const families = parseMetrics(labelled("proxy-2"));
  t.same(families.get("sluice_connections")!.samples, [
    { name: "sluice_connections", labels: { proxy: "proxy-2" }, value: 12 },
  ]);
  const lag = families.get("nodejs_eventloop_lag_seconds")!.samples;
  t.ok(lag.every(({ labels }) => labels["proxy"] === "proxy-2"));
  t.notOk(families.get("sluice_refused_total")!.samples.some(({ labels }) => "proxy" in labels));
});

t.test("what another release tells and the table doesn't have is passed over", async (t) => {
  const strange = familiesOfAll({ counted: [["new_total", ["x"], [1]]], read: [] }, true);
  t.ok(strange.every(({ series }) => series.length === 0));
});

t.test("without a supervisor each series says of which proxy it is", async (t) => {
  const refused = [["sluice_refused_total", ["budget", "path", "", "worker-2"], [3]]] as const;
  const families = parseMetrics(
    [...writeMetrics(familiesOfAll({ counted: refused, read: [] }, false), "prometheus")].join(""),
  );
  t.match(
    families.get("sluice_refused_total")!.samples,
    exactly([{ labels: { reason: "budget", proxy: "worker-2" }, value: 3 }]),
  );
});
