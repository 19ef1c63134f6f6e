import t from "tap";
import { addCount, rollHalves } from "../../../limiterd/cluster/halves.js";

t.test("halves count in another window as time goes on, and as clocks are set back", async (t) => {
  const of = { window: 7, current: 5, previous: 3 };
  for (const [window, current, previous] of [
    [7, 5, 3],
    [8, 0, 5],
    [9, 0, 0],
    [100, 0, 0],
    [6, 8, 0],
    [0, 8, 0],
  ] as const)
    t.same(rollHalves(of, window), { window, current, previous }, `in window ${window}`);
});

t.test("counts end at 2^53 - 1", async (t) => {
  const most = Number.MAX_SAFE_INTEGER;
  t.equal(addCount(most, most), most);
  t.equal(addCount(most - 1, 1), most);
  t.equal(addCount(2, 3), 5);
});
