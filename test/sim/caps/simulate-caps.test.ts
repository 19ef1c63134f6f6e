import t from "tap";
import { simulateCaps } from "./simulate-caps.js";

const seeds = Array.from({ length: 7 }, (_, i) => i + 1);

t.test("whatever goes wrong, no hard cap is exceeded, and none is left unused", async (t) => {
  const tally = new Map<string, number>();
  for (const seed of seeds) {
    const { violation, lines, tally: ofSeed } = await simulateCaps(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --caps --seed ${seed}`);
    if (violation !== null) t.comment(lines.join("\n"));
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  const expected = [
    "admitted",
    "refused",
    "drawn",
    "cut",
    "settled",
    "connection lost",
    "reconnected",
    "proxy killed",
    "daemon crashed",
    "filled",
    "filled later",
    "floor used up",
  ];
  t.same(
    expected.filter((kind) => !tally.has(kind)),
    [],
    "and all of this has happened",
  );
});

t.test("the same seed gives the same trace", async (t) => {
  const [first, again] = [await simulateCaps(3), await simulateCaps(3)];
  t.same([again.traceHash, again.events], [first.traceHash, first.events]);
});
