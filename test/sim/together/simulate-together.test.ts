import t from "tap";
import { simulateTogether } from "./simulate-together.js";

const seeds = Array.from({ length: 8 }, (_, i) => i + 1);

t.test("whatever limits a path has, all hold, and nobody is passed or forgotten", async (t) => {
  const tally = new Map<string, number>();
  for (const seed of seeds) {
    const { violation, lines, tally: ofSeed } = await simulateTogether(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --together --seed ${seed}`);
    if (violation !== null) t.comment(lines.join("\n"));
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  const expected = [
    "admitted",
    "admitted after a wait",
    "queued",
    "refused",
    "cancelled",
    "drawn",
    "cut",
    "settled",
    "connection lost",
    "unread",
    "reconnected",
    "proxy killed",
    "daemon crashed",
    "all served",
  ];
  t.same(
    expected.filter((kind) => !tally.has(kind)),
    [],
    "and all of this has happened",
  );
});

t.test("the same seed gives the same trace", async (t) => {
  const [first, again] = [await simulateTogether(3), await simulateTogether(3)];
  t.same([again.traceHash, again.events], [first.traceHash, first.events]);
});
