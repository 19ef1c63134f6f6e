import t from "tap";
import { mutants } from "./mutants.js";
import { misplacedMutants, runMutant } from "./run-mutant.js";

/** What is caught in every fourth seed gets away with this once in a hundred thousand times. */
const seedsPerMutant = 40;

t.test("each planted bug has its place in the code as it is", async (t) => {
  t.same(misplacedMutants(), []);
  t.ok(mutants.length >= 20);
});

t.test("the bugs that are caught often are caught", { jobs: 2 }, async (t) => {
  const often = mutants.filter((mutant) => mutant.often);
  t.ok(often.length >= 10);
  for (const mutant of often) {
    t.test(mutant.name, async (t) => {
      const { caught, seeds } = await runMutant(mutant, {
        from: mutant.from ?? 1,
        seeds: seedsPerMutant,
        untilCaught: true,
      });
      t.equal(caught, 1, `within ${seeds} seeds`);
    });
  }
});
