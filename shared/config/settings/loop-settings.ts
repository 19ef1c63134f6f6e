/** The fields of an entry of `loops` in the file (docs/loops.md). */
import { boolean } from "../kinds/choice-kinds.js";
import { numberOf, numberSchema } from "../kinds/number-kinds.js";
import { always, type ValueKind } from "../kinds/value-kind.js";
import { userPaths } from "./rewriter-settings.js";
import { type FieldValues, field } from "./setting.js";

/** More repetitions aren't counted. */
const timesMax = 100;

const times: ValueKind<number> = {
  label: "integer",
  range: `0, or 2 to ${timesMax}`,
  expected: `must be 0 or an integer from 2 to ${timesMax}`,
  quotable: always,
  parse: (raw) => {
    const value = numberOf(raw);
    const isTimes = Number.isSafeInteger(value) && value! <= timesMax && value! >= 0;
    return isTimes && value !== 1 ? value : undefined;
  },
  schema: numberSchema("integer", { min: 0, max: timesMax }),
};

export const loopWarnAfterDefault = 5;

/** By the key in the file. */
export const loopSettings = {
  paths: field({
    kind: userPaths,
    defaultText: "all paths",
    example: "[/agents]",
    meaning: "User paths with all below them. The first entry that has the caller's path applies.",
  }),
  warn_after: field({
    kind: times,
    defaultText: `${loopWarnAfterDefault}, or a lower refuse_after`,
    example: "5",
    meaning: "How often an agent may repeat itself until Sluice warns; 0: never.",
  }),
  refuse_after: field({
    kind: times,
    defaultText: "0",
    example: "20",
    meaning: "How often until Sluice refuses the request; 0: never.",
  }),
  compare_results: field({
    kind: boolean,
    defaultText: "true",
    example: "true",
    meaning: "Whether the results of the tools must be the same too, not only the calls.",
  }),
} as const;

/** The checked fields of an entry; null for those that the file leaves out. */
export type LoopFields = FieldValues<typeof loopSettings>;
