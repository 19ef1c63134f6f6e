import t from "tap";
import { buildBuildsReport, formatBuilds } from "./builds-report.js";

t.test("two builds are compared start by start, and by all that they have used", async (t) => {
  const start = (cpuUs: readonly number[], whole: number) => ({
    cpuUs,
    daemonUs: cpuUs,
    wholeCpuUs: whole,
    wholeDaemonUs: 2 * whole,
    errors: 1,
  });
  const report = buildBuildsReport({
    "the other": [start([10, 20], 10), start([10, 10], 30)],
    "this one": [start([11, 22], 20), start([13, 13], 30)],
  });
  t.same(
    report.rows.map(({ name, cpuUs, errors }) => [name, cpuUs, errors]),
    [
      ["the other", 10, 2],
      ["this one", 13, 2],
    ],
  );
  t.equal(report.ratios[0]!.whole, 1.25);
  const lines = formatBuilds(report);
  t.equal(lines[0], "One request, this one beside the other: 2 starts, 2 pairs of bursts each");
  t.match(lines[5], /^ {2}proxy CPU +1\.200 × +\[1\.100 – 1\.300\] +1\.100 – 1\.300 +1\.250 ×$/);
});
