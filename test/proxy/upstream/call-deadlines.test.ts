import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  TimeoutWatch,
  tickMsFor,
  timeoutTicksFor,
  type WatchedCall,
} from "../../../proxy/upstream/call-deadlines.js";

function watched(timeoutTicks: number, onTimedOut: () => void = () => {}): WatchedCall {
  return { idleTicks: 0, timeoutTicks, watchIndex: -1, onTimedOut };
}

t.test(
  "an idle call times out once, after its ticks; a sign of life starts the count again",
  async (t) => {
    const watch = new TimeoutWatch();
    const timedOut: string[] = [];
    const a = watched(3, () => timedOut.push("a"));
    const b = watched(3, () => timedOut.push("b"));
    const endless = watched(Infinity, () => timedOut.push("endless"));
    for (const each of [a, b, endless]) watch.add(each);
    watch.tick();
    watch.tick();
    b.idleTicks = 0;
    t.same(timedOut, []);
    watch.tick();
    t.same([timedOut, watch.size], [["a"], 2]);
    watch.tick();
    watch.tick();
    watch.tick();
    t.same([timedOut, watch.size], [["a", "b"], 1]);
  },
);

t.test("a call that times out may end others and begin new ones from its callback", async (t) => {
  const watch = new TimeoutWatch();
  const called: string[] = [];
  const other = watched(1, () => called.push("other"));
  const late = watched(1, () => called.push("late"));
  watch.add(
    watched(1, () => {
      called.push("first");
      watch.remove(other);
      watch.add(late);
    }),
  );
  watch.add(other);
  watch.tick();
  t.equal(called[0], "first");
  t.equal(watch.size, 1, "the new one stays");
  watch.tick();
  t.ok(called.includes("late"));
});

t.test(
  "whatever the order of additions and removals, exactly those that are in it are watched",
  async () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 60 }), (turns) => {
        const watch = new TimeoutWatch();
        const added = new Map<number, WatchedCall>();
        const all = Array.from({ length: 10 }, () => watched(Infinity));
        for (const turn of turns) {
          if (added.delete(turn)) watch.remove(all[turn]!);
          else {
            added.set(turn, all[turn]!);
            watch.add(all[turn]!);
          }
          watch.remove(watched(1));
          const before = all.map(({ idleTicks }) => idleTicks);
          watch.tick();
          for (const [i, { idleTicks }] of all.entries())
            assert.equal(idleTicks - before[i]!, added.has(i) ? 1 : 0);
          assert.equal(watch.size, added.size);
        }
      }),
    );
  },
);

t.test("a deadline is never shortened, and exceeded by two ticks at most", async (t) => {
  for (const deadlineMs of [1, 15, 400, 500, 60_000, 120_000, 3_600_000]) {
    const tickMs = tickMsFor(deadlineMs, 120_000);
    t.ok(tickMs >= 10 && tickMs <= 1000);
    const ticks = timeoutTicksFor(deadlineMs, tickMs);
    t.ok((ticks - 1) * tickMs >= deadlineMs, `${deadlineMs}: the first tick may come at once`);
    t.ok((ticks - 2) * tickMs < deadlineMs);
  }
});
