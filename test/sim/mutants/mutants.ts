/** Every planted bug. */
import { capsMutants } from "./caps-mutants.js";
import { countingMutants } from "./counting-mutants.js";
import { durabilityMutants } from "./durability-mutants.js";
import { hostsMutants } from "./hosts-mutants.js";
import { kindsMutants } from "./kinds-mutants.js";
import { ledgerMutants } from "./ledger-mutants.js";
import type { Mutant } from "./mutant.js";
import { sharesMutants } from "./shares-mutants.js";
import { togetherMutants } from "./together-mutants.js";
import { verdictMutants } from "./verdict-mutants.js";
import { waitingMutants } from "./waiting-mutants.js";

export const mutants: readonly Mutant[] = [
  ...countingMutants,
  ...kindsMutants,
  ...durabilityMutants,
  ...verdictMutants,
  ...hostsMutants,
  ...capsMutants,
  ...sharesMutants,
  ...togetherMutants,
  ...waitingMutants,
  ...ledgerMutants,
];
