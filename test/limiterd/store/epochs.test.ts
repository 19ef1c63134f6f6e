import fc from "fast-check";
import t from "tap";
import {
  type Epochs,
  epochChange,
  epochFromStored,
  isLost,
  lostChange,
  lostFromStored,
  nextEpochLsn,
  nextLost,
} from "../../../limiterd/store/epochs.js";
import { epochsMax } from "../../../shared/bounds.js";

t.test("lost are the numbers that were given out and aren't on the disk", async (t) => {
  // Of each epoch: numbers given out, and how many of them reached the disk.
  const epochs = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(epochs, (lives) => {
      let known: Epochs = { startLsn: 0, lost: [] };
      let last: { lsn: number } | null = null;
      let writtenLsn = 0;
      const right = new Map<number, boolean>();
      for (const [given, written] of lives) {
        const startLsn: number = 1000 + (last?.lsn ?? 0);
        known = { startLsn, lost: nextLost(known.lost, last, { writtenLsn, startLsn }) };
        known = { startLsn, lost: lostFromStored(lostChange(known.lost).value!)! };
        for (const [lsn, isGone] of right) if (isLost(known, lsn) !== isGone) return false;
        for (let i = 0; i < given; i++) {
          if (isLost(known, startLsn + i)) return false;
          right.set(startLsn + i, i >= written);
        }
        if (Math.min(given, written) > 0) writtenLsn = startLsn + Math.min(given, written) - 1;
        last = { lsn: startLsn };
      }
      return true;
    }),
  );
  t.pass();
});

t.test("starts that write nothing but their epoch take one entry together", async (t) => {
  let lost = nextLost([], null, { writtenLsn: 5, startLsn: 100 });
  for (let start = 200; start < 1000; start += 100)
    lost = nextLost(lost, { lsn: start - 100 }, { writtenLsn: 5, startLsn: start });
  t.same(lost, [{ afterLsn: 5, beforeLsn: 900 }]);
});

t.test("the oldest of very many starts is forgotten", async (t) => {
  let lost = nextLost([], null, { writtenLsn: 5, startLsn: 10 });
  for (let start = 20; start <= 10 * (epochsMax + 1); start += 10)
    lost = nextLost(lost, { lsn: start - 10 }, { writtenLsn: start - 5, startLsn: start });
  t.equal(lost.length, epochsMax);
  t.notOk(isLost({ startLsn: 0, lost }, 8));
  t.ok(isLost({ startLsn: 0, lost }, 18));
});

t.test("requests without a number of the daemon's are never lost", async (t) => {
  for (const lsn of [0, 1, 2])
    t.notOk(isLost({ startLsn: 100, lost: [{ afterLsn: 0, beforeLsn: 100 }] }, lsn));
});

t.test("what was never written isn't read", async (t) => {
  t.same(lostFromStored([]), []);
  for (const wrong of [[1], [1, 2, 3], ["1", 2], [-1, 2]])
    t.equal(lostFromStored(wrong), null, JSON.stringify(wrong));
});

const uptime = fc.record({ boot: fc.constantFrom("one", "two"), upMs: fc.nat({ max: 1e12 }) });

t.test("an epoch comes back as it was written", async (t) => {
  t.same(epochFromStored(epochChange(7, { boot: "one", upMs: 5 }).value!), {
    lsn: 7,
    boot: "one",
    upMs: 5,
  });
  for (const wrong of [[], ["7"], [-1], [1.5], [7], [7, "one"], [7, "one", -1], [7, 1, 5]])
    t.equal(epochFromStored(wrong), null, JSON.stringify(wrong));
});

t.test(
  "of epochs of one boot that began from the same disk, the later one's numbers are above all that the earlier one gave out",
  async (t) => {
    const last = fc.option(fc.record({ lsn: fc.nat(), stored: uptime }), { nil: null });
    fc.assert(
      fc.property(
        last,
        uptime,
        fc.integer({ min: 1, max: 1e9 }),
        (last, { boot, upMs }, laterMs) => {
          const epoch = last === null ? null : { lsn: last.lsn, ...last.stored };
          const lastLsn = epoch?.lsn ?? 0;
          const fromMs = upMs + (epoch?.boot === boot ? epoch.upMs : 0);
          const first = nextEpochLsn(lastLsn, epoch, { boot, upMs: fromMs });
          const second = nextEpochLsn(lastLsn, epoch, { boot, upMs: fromMs + laterMs });
          return first > lastLsn && second - first === laterMs * 1000;
        },
      ),
    );
    const epoch = { lsn: 5, boot: "one", upMs: 1000 };
    const starts = [1000, 1001, 90_000].map((upMs) =>
      nextEpochLsn(5, epoch, { boot: "one", upMs }),
    );
    t.same(starts, [1_000_005, 1_001_005, 90_000_005]);
  },
);
