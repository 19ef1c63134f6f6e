import t from "tap";
import { simulateLoops } from "./simulate-loops.js";

t.test("a loop is found in each dialect if it is there, and only then", async (t) => {
  const tally = new Map<string, number>();
  for (let seed = 1; seed <= 20; seed++) {
    const { violation, tally: ofSeed } = await simulateLoops(seed);
    t.equal(violation, null, `replay it with: npm run heavy -- sim --loops --seed ${seed}`);
    for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
  }
  for (const kind of ["let through", "warned", "refused", "growth"])
    t.ok((tally.get(kind) ?? 0) > 20, `${kind}: ${tally.get(kind)}`);
});
