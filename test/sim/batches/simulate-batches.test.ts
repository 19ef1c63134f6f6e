import t from "tap";
import { simulateBatches } from "./simulate-batches.js";

t.test("enqueued tokens are those of unfinished batches, whatever happens", async (t) => {
  const tally = new Map<string, number>();
  for (let seed = 1; seed <= 20; seed++) {
    const { violation, lines, tally: ofSeed } = await simulateBatches(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --batches --seed ${seed}`);
    if (violation !== null) t.comment(lines.join("\n"));
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  const expected = ["admitted", "refused", "submitted", "withdrawn", "ended", "restarted"];
  t.same(
    expected.filter((kind) => !tally.has(kind)),
    [],
    "and all of this has happened",
  );
});
