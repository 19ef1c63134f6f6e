/** The log as whoever reads standard output sees it, in a process of its own. */
import { execFileSync } from "node:child_process";
import t from "tap";
import { createThrottledCount } from "../../shared/log.js";

const log = new URL("../../shared/log.js", import.meta.url).href;

function linesOf(program: string): readonly string[] {
  return execFileSync(
    process.execPath,
    ["--input-type=module", "-e", `import { createLog } from ${JSON.stringify(log)}; ${program}`],
    { encoding: "utf8" },
  )
    .trimEnd()
    .split("\n");
}

function written(program: string): Record<string, unknown>[] {
  return linesOf(program).map((line) => JSON.parse(line) as Record<string, unknown>);
}

t.test("only the journal gets the priority of each line", async (t) => {
  const program = (ofJournal: string): string =>
    `import { fstatSync } from "node:fs"; const { dev, ino } = fstatSync(1); process.env.JOURNAL_STREAM = ${ofJournal}; const log = createLog("proxy", "trace"); log.line("info", '"n":1', "request"); log.line("debug", '"n":2', "request"); for (const level of ["warn", "error"]) log[level]("x"); log.flush(() => { for (const level of ["fatal", "info", "trace"]) log[level]("x"); log.flush(() => process.exit(0)); });`;
  const lines = linesOf(program("`${dev}:${ino}`"));
  t.same(
    lines.map((line) => line.slice(0, 3)),
    ["<6>", "<7>", "<4>", "<3>", "<2>", "<6>", "<7>"],
  );
  for (const line of lines) t.ok(JSON.parse(line.slice(3)));
  t.equal(written(program("`${dev}:${ino + 1}`")).length, 7, "another stream is the journal");
});

t.test(
  "lines of requests and other lines keep the order in which they were logged, and look alike",
  (t) => {
    const lines = written(
      `const log = createLog("proxy", "info"); log.line("info", '"n":1', "request"); log.line("debug", '"n":0', "hidden"); log.info({ n: 2 }, "other"); log.line("info", '"n":3', "request");`,
    );
    t.same(
      lines.map(({ n, msg, process, level }) => [n, msg, process, level]),
      [
        [1, "request", "proxy", "info"],
        [2, "other", "proxy", "info"],
        [3, "request", "proxy", "info"],
      ],
    );
    for (const { time } of lines) t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.end();
  },
);

t.test("flush writes what was gathered", (t) => {
  const lines = written(
    `const log = createLog("proxy", "info"); log.line("info", '"n":1', "request"); log.flush(() => process.exit(0));`,
  );
  t.same(
    lines.map(({ n }) => n),
    [1],
  );
  t.end();
});

t.test("a log at rest writes nothing, not even an empty text now and then", async (t) => {
  const [line] = written(
    `const intervals = []; globalThis.setInterval = (_, ms) => intervals.push(ms); const log = createLog("proxy", "info"); log.line("info", '"n":1', "request"); log.flush(() => { log.info({ intervals }, "flushed"); log.flush(() => process.exit(0)); });`,
  ).slice(1);
  t.match(line, { msg: "flushed" });
  t.same(line?.["intervals"], []);
});

t.test("many lines are complete, in order and written once", (t) => {
  const lines = written(
    `const log = createLog("proxy", "info"); for (let n = 0; n < 5000; n++) log.line("info", '"n":' + n, "request");`,
  );
  t.same(
    lines.map(({ n }) => n),
    Array.from({ length: 5000 }, (_, n) => n),
  );
  t.end();
});

t.test("lines of any length and in any script are complete, and in order", async (t) => {
  const lines = written(
    `const log = createLog("proxy", "info"); for (let n = 0; n < 40; n++) log.line("info", '"n":' + n + ',"text":"' + "aäㄅ😀".repeat(n ** 3 / 10) + '"', "request");`,
  );
  t.equal(lines.length, 40);
  for (const [i, { n, text }] of lines.entries())
    t.ok(n === i && text === "aäㄅ😀".repeat(i ** 3 / 10), `line ${i}`);
});

t.test(
  "the first is reported immediately, those until the next report together, none twice",
  async (t) => {
    const timers: (() => void)[] = [];
    const reports: number[] = [];
    const count = createThrottledCount(
      (_, run) => void timers.push(run),
      (n) => void reports.push(n),
    );
    count();
    t.same([reports, timers.length], [[1], 1]);
    for (let i = 0; i < 1000; i++) count();
    t.same([reports, timers.length], [[1], 1]);
    timers.shift()!();
    t.same([reports, timers.length], [[1, 1000], 1]);
    timers.shift()!();
    t.same([reports, timers.length], [[1, 1000], 0], "nothing has happened since");
    count();
    t.same([reports, timers.length], [[1, 1000, 1], 1], "so the next one is a first one");
  },
);
