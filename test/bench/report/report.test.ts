import t from "tap";
import type { Phase } from "../measure/phase.js";
import { buildDaemonReport, formatDaemon, median } from "./report.js";
import { figureOf, formatComparison } from "./table-report.js";

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

t.test("the median of an even number is the mean of the two in the middle", async (t) => {
  t.equal(median([5, 1, 3]), 3);
  t.equal(median([4, 1, 3, 2]), 2.5);
});

const chat = {
  name: "chat, CPU",
  unit: "µs",
  base: "undici",
  values: { undici: [10, 10, 60], Sluice: [10, 40, 90], "Sluice, no limits": [] },
  reach: { of: "Sluice", atMost: 1.2 },
} as const;

t.test("a figure is the median of the rounds' own ratios, not the ratio of medians", async (t) => {
  t.match(figureOf(chat), {
    values: { undici: 10, Sluice: 1.5 },
    reach: { atMost: 1.2, measured: 1.5 },
  });
});

t.test("each line of the table shows what it should be at most, and the distance", async (t) => {
  const memory = { name: "memory", unit: "MB", base: null, values: { Sluice: [100] } } as const;
  const text = formatComparison({
    lines: [
      chat,
      { ...memory, reach: { of: "Sluice", atMost: 110 } },
      { ...memory, name: "burst", values: {}, reach: { of: "Sluice", atMost: 3 } },
    ],
    skipped: { nginx: "not installed" },
    complaints: [],
  });
  t.match(text, /^ +undici +Sluice +at most$/m);
  t.match(text, /^ {2}chat, CPU +10 µs +1\.50 × +1\.20 × +1\.25 × too much$/m);
  t.match(text, /^ {2}memory +100 MB +110 MB +PASS$/m);
  t.match(text, /^ {2}burst$/m);
  t.match(text, /^not measured: nginx \(not installed\)$/m);
});

t.test("one failed request makes the whole run complain, above the tables", async (t) => {
  const table = formatComparison({ lines: [chat], skipped: {}, complaints: ["chat: 3 failed"] });
  t.match(table, /^!!! THIS RUN ISN'T SOUND\n!!! chat: 3 failed\n/);
  const failed = phase({ errors: 3, lastError: "ECONNRESET" });
  const phases = { "daemon 1": [phase({}), failed, phase({})] };
  const text = formatDaemon(buildDaemonReport({ phases, skipped: { redis: "not installed" } }));
  t.match(text, /THIS RUN ISN'T SOUND\n!!! daemon 1: 3 failed, the last with ECONNRESET/);
  t.ok(text.indexOf("!!!") < text.indexOf("adm/s"));
  t.match(text, /not measured: Redis, Lua \(not installed\)/);
});
