import t from "tap";
import { OpenTargetReport } from "../../../proxy/limiter/open-target-report.js";

/** Timers run when they are told to, the soonest first. */
function reportOf(open: { targets: readonly string[] }) {
  const told: unknown[] = [];
  const waiting: { readonly ms: number; readonly run: () => void }[] = [];
  const report = new OpenTargetReport({
    limiter: {
      async call(op, body) {
        told.push([op, body]);
        return { ok: true, body: null };
      },
    },
    open: () => open.targets,
    schedule: (ms, run) => void waiting.push({ ms, run }),
  });
  const pass = (): void => {
    waiting.sort((a, b) => a.ms - b.ms);
    waiting.shift()?.run();
  };
  const waits = (): readonly number[] => waiting.map(({ ms }) => ms);
  return { report, told, waiting, waits, pass };
}

const said = (...targets: readonly string[]) => ["targets.report", { targets }];

t.test(
  "the daemon hears of targets that are left alone, and again while there are any",
  async (t) => {
    const open = { targets: ["one/a: 503"] as readonly string[] };
    const { report, told, waiting, waits, pass } = reportOf(open);
    report.changed();
    report.changed();
    t.same(told, [], "not for each of many at once");
    t.same(waits(), [200]);
    pass();
    t.same(told, [said("one/a: 503")]);
    t.same(waits(), [10_000]);
    pass();
    t.same(told.length, 2, "a daemon that is new hears of it too");
    report.changed();
    t.same(waits(), [10_000, 200], "each change is told soon");
    pass();
    open.targets = [];
    report.changed();
    pass();
    t.same(told.at(-1), said());
    while (waiting.length > 0) pass();
    t.equal(told.length, 4, "and no more");
  },
);

t.test("what is said has a bound", async (t) => {
  const open = { targets: Array.from({ length: 200 }, (_, i) => `${i} ${"x".repeat(1000)}`) };
  const { report, told, pass } = reportOf(open);
  report.changed();
  pass();
  const [[, { targets }]] = told as [[string, { targets: readonly string[] }]];
  t.same([targets.length, targets[0]!.length], [100, 500]);
});
