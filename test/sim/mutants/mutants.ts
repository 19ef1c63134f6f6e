/** Every planted bug. */
import { countingMutants } from "./counting-mutants.js";
import { durabilityMutants } from "./durability-mutants.js";
import type { Mutant } from "./mutant.js";

export const mutants: readonly Mutant[] = [...countingMutants, ...durabilityMutants];
