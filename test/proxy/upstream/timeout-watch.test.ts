import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  lookEveryMs,
  SilenceWatch,
  timeoutTicksFor,
  type Watched,
} from "../../../proxy/upstream/timeout-watch.js";

function watched(timeoutTicks: number, onTimedOut: () => void = () => {}): Watched {
  return { looks: 0, timeoutTicks, place: -1, onTimedOut };
}

t.test(
  "who gives no sign of life is told once, when its time is up, and who gives one begins anew",
  async (t) => {
    const watch = new SilenceWatch();
    const silent: string[] = [];
    const a = watched(3, () => silent.push("a"));
    const b = watched(3, () => silent.push("b"));
    const endless = watched(Infinity, () => silent.push("endless"));
    for (const each of [a, b, endless]) watch.add(each);
    watch.look();
    watch.look();
    b.looks = 0;
    t.same(silent, []);
    watch.look();
    t.same([silent, watch.size], [["a"], 2]);
    watch.look();
    watch.look();
    watch.look();
    t.same([silent, watch.size], [["a", "b"], 1]);
  },
);

t.test("whoever is told may end others, or begin new ones, in the same breath", async (t) => {
  const watch = new SilenceWatch();
  const told: string[] = [];
  const other = watched(1, () => told.push("other"));
  const late = watched(1, () => told.push("late"));
  watch.add(
    watched(1, () => {
      told.push("first");
      watch.remove(other);
      watch.add(late);
    }),
  );
  watch.add(other);
  watch.look();
  t.equal(told[0], "first");
  t.equal(watch.size, 1, "the new one stays");
  watch.look();
  t.ok(told.includes("late"));
});

t.test("in any order of comings and goings, it watches exactly those that are there", async () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 60 }), (turns) => {
      const watch = new SilenceWatch();
      const looked = new Map<number, Watched>();
      const all = Array.from({ length: 10 }, () => watched(Infinity));
      for (const turn of turns) {
        if (looked.delete(turn)) watch.remove(all[turn]!);
        else {
          looked.set(turn, all[turn]!);
          watch.add(all[turn]!);
        }
        watch.remove(watched(1));
        const before = all.map(({ looks }) => looks);
        watch.look();
        all.forEach(({ looks }, i) => assert.equal(looks - before[i]!, looked.has(i) ? 1 : 0));
        assert.equal(watch.size, looked.size);
      }
    }),
  );
});

t.test("a deadline is never shortened, and stretched by two looks at most", async (t) => {
  for (const deadlineMs of [1, 15, 400, 500, 60_000, 120_000, 3_600_000]) {
    const everyMs = lookEveryMs([deadlineMs, 120_000]);
    t.ok(everyMs >= 10 && everyMs <= 1000);
    const looks = timeoutTicksFor(deadlineMs, everyMs);
    t.ok((looks - 1) * everyMs >= deadlineMs, `${deadlineMs}: the first look may come at once`);
    t.ok((looks - 2) * everyMs < deadlineMs);
  }
});
