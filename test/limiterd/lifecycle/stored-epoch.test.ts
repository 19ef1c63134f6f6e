import fc from "fast-check";
import t from "tap";
import {
  epochChange,
  epochFromStored,
  nextEpochLsn,
} from "../../../limiterd/lifecycle/stored-epoch.js";

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
