import t from "tap";
import type { Phase } from "../measure/phase.js";
import { formatReport } from "./format-report.js";
import { buildReport, type Head, median } from "./report.js";

const head: Head = {
  date: "2030-01-01T00:00:00.000Z",
  node: "20.0.0",
  cpu: "CPU",
  cores: 2,
  kernel: "6",
  loadBefore: 0,
  cpuSource: "/proc",
  rounds: 3,
  seconds: 3,
  connections: 32,
  versions: {},
};

function phase(fields: Partial<Phase>): Phase {
  return {
    count: 1,
    seconds: 1,
    perSecond: 1,
    p50Us: 1,
    p99Us: 1,
    firstP50Us: 1,
    cpuUs: 1,
    besideCpuUs: 0,
    errors: 0,
    lastError: null,
    generatorShare: 0,
    ...fields,
  };
}

function withCpu(...values: readonly number[]): Phase[] {
  return values.map((cpuUs) => phase({ cpuUs }));
}

t.test("the median of an even number is the mean of the two in the middle", async (t) => {
  t.equal(median([5, 1, 3]), 3);
  t.equal(median([4, 1, 3, 2]), 2.5);
});

t.test("a ratio is the median of the rounds' own ratios, not the ratio of medians", async (t) => {
  const rounds = {
    phases: {
      sluice: withCpu(10, 40, 90),
      undici: withCpu(10, 10, 60),
      "http-proxy": withCpu(100, 100, 100),
    },
    skipped: {},
  };
  const report = buildReport(head, rounds, null);
  t.match(report.ratios[0], { median: 1.5, lowest: 1, highest: 4 });
});

t.test("each line of the reach shows its own figure beside what it should be", async (t) => {
  const memory = (ownBytes: number) => ({ residentBytes: 2 * ownBytes, ownBytes });
  const proxy = {
    phases: {
      sluice: [phase({ cpuUs: 18, besideCpuUs: 3 })],
      undici: withCpu(10),
      "http-proxy": withCpu(20),
    },
    skipped: {},
  };
  const daemon = {
    phases: {
      "daemon 128": [phase({ cpuUs: 15, perSecond: 20 })],
      "redis 128": [phase({ perSecond: 10 })],
    },
    skipped: {},
  };
  const rest = {
    programs: {
      up: { firstAnswerMs: [600, 500, 400], atRest: memory(100e6), afterLoad: memory(161e6) },
      pair: { firstAnswerMs: [400], atRest: memory(85e6), afterLoad: memory(120e6) },
      undici: { firstAnswerMs: [250], atRest: memory(50e6), afterLoad: memory(60e6) },
    },
    statusMs: [100, 130, 110],
  };
  const report = buildReport(head, proxy, daemon, rest);
  t.strictSame(
    report.reach.map(({ measured }) => measured),
    [100, 85, 161, 500, 2, 110, 1.8, 2.1, 0.9, 15, 0.5],
  );
  const lines = formatReport(report).split("\nReach\n")[1]!.split("\n").slice(1);
  t.strictSame(
    lines.map((line) => /(met|NOT MET)$/.exec(line)?.[1]),
    ["met", "met", "NOT MET", "NOT MET", "met", "met", "NOT MET", "NOT MET", "met", "met", "met"],
  );
  t.match(lines[0], /memory at rest, sluice up +100 MB +110 MB +met$/);
  const unmeasured = formatReport(buildReport(head, null, null)).split("\nReach\n")[1]!;
  t.equal(unmeasured.match(/not measured/g)?.length, lines.length);
});

t.test("one failed request makes the whole run complain, above the tables", async (t) => {
  const rounds = {
    phases: {
      sluice: [
        phase({ errors: 0 }),
        phase({ errors: 3, lastError: "the status 503" }),
        phase({ errors: 0 }),
      ],
    },
    skipped: { nginx: "not installed" },
  };
  const text = formatReport(buildReport(head, rounds, null));
  t.match(text, /THIS RUN ISN'T SOUND\n!!! sluice: 3 failed, the last with the status 503/);
  t.ok(text.indexOf("!!!") < text.indexOf("req/s"));
  t.match(text, /not measured: nginx, 1 worker \(not installed\)/);
});
