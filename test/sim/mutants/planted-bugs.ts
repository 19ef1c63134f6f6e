/**
 * The planted bugs that few seeds are needed for, each until a seed catches it. A step of CI, and
 * no part of `npm test`: it takes a quarter of a minute of CPU.
 */
import t from "tap";
import { mutants } from "./mutants.js";
import { runMutant } from "./run-mutant.js";

/** What is caught in every fourth seed gets away with this once in a hundred thousand times. */
const seedsPerMutant = 40;

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
