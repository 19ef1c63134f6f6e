import t from "tap";
import { simulateHosts } from "./simulate-hosts.js";

const seeds = Array.from({ length: 10 }, (_, i) => i + 1);

t.test("whatever goes wrong, several hosts admit no more than one may", async (t) => {
  const tally = new Map<string, number>();
  for (const seed of seeds) {
    const { violation, lines, tally: ofSeed } = await simulateHosts(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --hosts --seed ${seed}`);
    if (violation !== null) t.comment(lines.join("\n"));
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  const expected = [
    "admitted",
    "withdrawn",
    "refused by a host's own rule",
    "refused by a wide cap",
    "question lost",
    "question doubled",
    "question executed late",
    "answer lost",
    "kill",
    "pause",
    "cut",
    "step",
    "wipe",
    "fail over",
    "cap",
  ];
  t.same(
    expected.filter((kind) => !tally.has(kind)),
    [],
    "and all of this has happened",
  );
});

t.test("the same seed gives the same trace", async (t) => {
  const [first, again] = [await simulateHosts(3), await simulateHosts(3)];
  t.same([again.traceHash, again.events], [first.traceHash, first.events]);
});
