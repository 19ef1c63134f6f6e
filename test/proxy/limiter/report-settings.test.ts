import t from "tap";
import { reportSettings } from "../../../proxy/limiter/report-settings.js";
import { failure } from "../../../shared/error-code.js";
import type { DaemonAnswer } from "../../../shared/wire/admin-op.js";

/** Timers run when they are told to. */
function start(answers: readonly DaemonAnswer[], reachable = true) {
  const calls: unknown[] = [];
  const timers = new Set<() => void>();
  const limiter = {
    reachable,
    async call(op: unknown, body: unknown) {
      calls.push([op, body]);
      return answers[calls.length - 1]!;
    },
  };
  const setTimer = (_ms: number, run: () => void) => {
    timers.add(run);
    return () => void timers.delete(run);
  };
  const report = reportSettings(
    { limiter, setTimer },
    { startedUpMs: 7, file: null, settings: [["setting x", "1", ""]] },
  );
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const pass = async () => {
    await settled();
    const [run] = timers;
    timers.clear();
    run?.();
    await settled();
  };
  return { report, limiter, calls, timers, settled, pass };
}

const good = { ok: true, body: null } as const;
const away = { ok: false, failure: failure("limiter_unavailable", "away") } as const;

t.test("the settings are reported until the daemon has them", async (t) => {
  const { calls, timers, pass } = start([away, good]);
  await pass();
  t.equal(calls.length, 2);
  t.equal(timers.size, 0, "once is enough");
  const body = { started_up_ms: 7, file: null, settings: [["setting x", "1", ""]] };
  t.same(calls[1], ["configuration.report", body]);
});

t.test("they wait for the daemon, until the proxy stops", async (t) => {
  const { report, limiter, calls, timers, pass } = start([good], false);
  await pass();
  t.equal(calls.length, 0);
  limiter.reachable = true;
  await pass();
  t.equal(calls.length, 1);
  const other = start([away]);
  await other.settled();
  t.equal(other.timers.size, 1);
  other.report.stop();
  t.equal(other.timers.size, 0);
  report.stop();
  t.equal(timers.size, 0);
});

t.test("an older daemon, which doesn't know the operation, isn't asked again", async (t) => {
  const { calls, timers, pass } = start([
    { ok: false, failure: failure("operation_unknown", "older") },
  ]);
  await pass();
  t.equal(calls.length, 1);
  t.equal(timers.size, 0);
});
