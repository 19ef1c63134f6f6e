import t from "tap";
import { mutants } from "./mutants.js";
import { misplacedMutants } from "./run-mutant.js";

t.test("each planted bug has its place in the code as it is", async (t) => {
  t.same(misplacedMutants(), []);
  t.ok(mutants.length >= 20);
});
