import t from "tap";
import { ExpiryTimer } from "../../../../proxy/limiter/client/expiry-timer.js";

/** A timer over two that wait; `due` holds what is scheduled. */
function timerOf(deadlineMs: number, sizes: readonly [number, number]) {
  const expired: string[] = [];
  const due: { readonly ms: number; readonly run: () => void }[] = [];
  const waiting = ["a", "b"].map((name, i) => ({
    name,
    size: sizes[i]!,
    expire: (nowMonoMs: number) => void expired.push(`${name} at ${nowMonoMs}`),
  }));
  const ports = {
    monoMs: () => 7,
    schedule: (ms: number, run: () => void) => void due.push({ ms, run }),
  };
  return { timer: new ExpiryTimer(ports, deadlineMs, waiting), waiting, due, expired };
}

t.test("deadlines are looked at ten times in their length, at most each 10 ms", async (t) => {
  for (const [deadlineMs, intervalMs] of [
    [5000, 500],
    [101, 10.1],
    [100, 10],
    [50, 10],
    [0, 10],
  ] as const) {
    const { timer, due } = timerOf(deadlineMs, [1, 0]);
    timer.start();
    t.same(
      due.map(({ ms }) => ms),
      [intervalMs],
    );
  }
});

t.test("one timer runs while anything waits, and none while nothing does", async (t) => {
  for (const [sizes, timers] of [
    [[0, 0], 0],
    [[1, 0], 1],
    [[0, 1], 1],
    [[2, 3], 1],
  ] as const) {
    const { timer, due } = timerOf(1000, sizes);
    timer.start();
    timer.start();
    t.equal(due.length, timers, sizes.join());
  }
  const { timer, waiting, due, expired } = timerOf(1000, [1, 1]);
  timer.start();
  due[0]!.run();
  t.same(expired, ["a at 7", "b at 7"]);
  t.equal(due.length, 2, "something waits still");
  for (const each of waiting) each.size = 0;
  due[1]!.run();
  t.equal(due.length, 2);
  waiting[1]!.size = 1;
  timer.start();
  t.equal(due.length, 3, "and again for the next one");
});
