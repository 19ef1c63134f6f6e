import t from "tap";
import { OpenTargetReport } from "../../../proxy/limiter/open-target-report.js";

/** Timers run when they are told to, the soonest first. */
function reportOf(open: { targets: readonly string[] }) {
  const calls: unknown[] = [];
  const waiting: { readonly ms: number; readonly run: () => void }[] = [];
  const report = new OpenTargetReport({
    limiter: {
      async call(op, body) {
        calls.push([op, body]);
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
  return { report, calls, waiting, waits, pass };
}

const said = (...targets: readonly string[]) => ["targets.report", { targets }];

t.test(
  "the daemon hears of targets that are left alone, and again while there are any",
  async (t) => {
    const open = { targets: ["one/a: 503"] as readonly string[] };
    const { report, calls, waiting, waits, pass } = reportOf(open);
    report.noteChange();
    report.noteChange();
    t.same(calls, [], "not for each of many at once");
    t.same(waits(), [200]);
    pass();
    t.same(calls, [said("one/a: 503")]);
    t.same(waits(), [10_000]);
    pass();
    t.same(calls.length, 2, "a daemon that is new hears of it too");
    report.noteChange();
    t.same(waits(), [10_000, 200], "each change is told soon");
    pass();
    open.targets = [];
    report.noteChange();
    pass();
    t.same(calls.at(-1), said());
    while (waiting.length > 0) pass();
    t.equal(calls.length, 4, "and no more");
  },
);

t.test("what is said has a bound", async (t) => {
  const open = { targets: Array.from({ length: 200 }, (_, i) => `${i} ${"x".repeat(1000)}`) };
  const { report, calls, pass } = reportOf(open);
  report.noteChange();
  pass();
  const [[, { targets }]] = calls as [[string, { targets: readonly string[] }]];
  t.same([targets.length, targets[0]!.length], [100, 500]);
});
