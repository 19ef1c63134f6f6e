import t from "tap";
import { simulateShares } from "./simulate-shares.js";

const seeds = Array.from({ length: 8 }, (_, i) => i + 1);

t.test("whatever goes wrong, shares hold, and none waits while anything is free", async (t) => {
  const tally = new Map<string, number>();
  for (const seed of seeds) {
    const { violation, lines, tally: ofSeed } = await simulateShares(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --shares --seed ${seed}`);
    if (violation !== null) t.comment(lines.join("\n"));
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  const expected = [
    "admitted",
    "admitted after a wait",
    "refused",
    "cancelled",
    "settled",
    "withdrawn",
    "failed",
    "connection lost",
    "reconnected",
    "proxy killed",
    "daemon crashed",
    "shares changed",
    "all served",
  ];
  t.same(
    expected.filter((kind) => !tally.has(kind)),
    [],
    "and all of this has happened",
  );
});

t.test("the same seed gives the same trace", async (t) => {
  const [first, again] = [await simulateShares(3), await simulateShares(3)];
  t.same([again.traceHash, again.events], [first.traceHash, first.events]);
});
