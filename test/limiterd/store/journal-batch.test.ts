import t from "tap";
import { batchFromStored, batchToStored } from "../../../limiterd/store/journal-batch.js";

t.test("a batch comes back as it was written, and nothing else does", async (t) => {
  const batch = { settled: new Map([["p", 3]]), counted: ["r", "", 1, 1, 0] };
  t.same(batchFromStored(batchToStored(batch)), batch);
  const two = { settled: new Map([...batch.settled, ["q", 0]]), counted: [] };
  t.same(batchToStored(two), [["p", 3, "q", 0], []]);
  t.same(batchFromStored(batchToStored(two)), two);
  t.same(batchFromStored([[], []]), { settled: new Map(), counted: [] });
  for (const wrong of [[], [[]], [["p"], []], [["p", -1], []], [[3, "p"], []], [[], {}]])
    t.equal(batchFromStored(wrong), null, JSON.stringify(wrong));
});
