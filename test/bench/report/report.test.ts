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
  const report = buildReport(head, { rounds, start: null }, null);
  t.match(report.ratios[0], { median: 1.5, lowest: 1, highest: 4 });
});

t.test("each line of the reach is met, not met or not measured by its own figure", async (t) => {
  const sound = {
    proxy: {
      rounds: {
        phases: { sluice: withCpu(18), undici: withCpu(10), "http-proxy": withCpu(18.1) },
        skipped: {},
      },
      start: { readyMs: [500], proxyIdleBytes: 60e6, daemonIdleBytes: 69e6 },
    },
    daemon: {
      phases: {
        "daemon 128": [phase({ cpuUs: 15, perSecond: 11 })],
        "redis 128": [phase({ perSecond: 10 })],
      },
      skipped: {},
    },
  };
  t.strictSame(
    buildReport(head, sound.proxy, sound.daemon).reach.map(({ isMet }) => isMet),
    [true, true, true, true, true, true],
  );
  const poor = {
    proxy: {
      rounds: {
        phases: { sluice: withCpu(18.2), undici: withCpu(10), "http-proxy": withCpu(18.2) },
        skipped: {},
      },
      start: { readyMs: [1000], proxyIdleBytes: 60e6, daemonIdleBytes: 70e6 },
    },
    daemon: {
      phases: {
        "daemon 128": [phase({ cpuUs: 15.1, perSecond: 10 })],
        "redis 128": [phase({ perSecond: 10 })],
      },
      skipped: {},
    },
  };
  t.strictSame(
    buildReport(head, poor.proxy, poor.daemon).reach.map(({ isMet }) => isMet),
    [false, false, false, false, false, false],
  );
  t.strictSame(
    buildReport(head, null, null).reach.map(({ isMet }) => isMet),
    [null, null, null, null, null, null],
  );
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
  const text = formatReport(buildReport(head, { rounds, start: null }, null));
  t.match(text, /THIS RUN ISN'T SOUND\n!!! sluice: 3 failed, the last with the status 503/);
  t.ok(text.indexOf("!!!") < text.indexOf("req/s"));
  t.match(text, /not measured: nginx, 1 worker \(not installed\)/);
});
