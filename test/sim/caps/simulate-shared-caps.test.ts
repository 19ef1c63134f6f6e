import t from "tap";
import { simulateSharedCaps } from "./simulate-shared-caps.js";

const seeds = Array.from({ length: 4 }, (_, i) => i + 1);

t.test("hosts that share hard caps don't exceed them, and use them up", async (t) => {
  const tally = new Map<string, number>();
  for (const seed of seeds) {
    const { violation, lines, tally: ofSeed } = await simulateSharedCaps(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --shared-caps --seed ${seed}`);
    if (violation !== null) t.comment(lines.join("\n"));
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  const expected = [
    "admitted",
    "refused",
    "drawn",
    "cut",
    "settled",
    "cut off",
    "daemon killed",
    "engine killed",
    "other latency",
    "filled",
  ];
  t.same(
    expected.filter((kind) => !tally.has(kind)),
    [],
    "and all of this has happened",
  );
});
