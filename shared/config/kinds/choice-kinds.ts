/** The kinds of values that are one of a few: a boolean, or one of several names. */
import { isObject } from "../../checked.js";
import { loopsOfText } from "../../domain/loop-rule.js";
import { booleanOf } from "../../text/written-boolean.js";
import type { PassthroughAccess } from "../provider-type.js";
import { numberOf } from "./number-kinds.js";
import { textOf } from "./text-kinds.js";
import { always, orVariable, type ValueKind } from "./value-kind.js";

export const boolean: ValueKind<boolean> = {
  label: "boolean",
  expected: "must be true or false (or yes, no, on, off, 1, 0)",
  quotable: always,
  parse: booleanOf,
  schema: orVariable({ type: "boolean" }, { enum: ["yes", "no", "on", "off", 1, 0] }),
};

/**
 * Converts a value to the form of `parseLoops`: a text to a mapping, and texts in a mapping to
 * numbers.
 */
export function loopsOf(raw: unknown): unknown {
  if (!isObject(raw)) return loopsOfText(raw);
  return Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [
      name,
      (name === "compare_results" ? booleanOf(value) : numberOf(value)) ?? value,
    ]),
  );
}

/** Who may use passthrough: no caller, the master key (and an open gateway's callers), all. */
export const passthroughAccess: ValueKind<PassthroughAccess> = {
  label: "off, master_key, all",
  expected: "must be off, master_key or all (false is off, true is all)",
  quotable: always,
  parse: (raw) => {
    const is = boolean.parse(raw);
    if (is !== undefined) return is ? "all" : "off";
    return (["master_key", "all"] as const).find((value) => value === textOf(raw)?.toLowerCase());
  },
  schema: orVariable({ enum: ["off", "master_key", "all", true, false] }),
};

const processesMax = 64;

/** A number of processes, or one for each processor. */
export const processCount: ValueKind<number | "auto"> = {
  label: "auto or integer",
  range: `1 to ${processesMax}`,
  expected: `must be auto or an integer from 1 to ${processesMax}`,
  quotable: always,
  parse(raw) {
    if (textOf(raw)?.toLowerCase() === "auto") return "auto";
    const count = numberOf(raw);
    return count !== undefined && Number.isInteger(count) && count >= 1 && count <= processesMax
      ? count
      : undefined;
  },
  schema: orVariable({ type: "integer", minimum: 1, maximum: processesMax }, { enum: ["auto"] }),
};

/** One of `values`, ignoring case. */
export function choice<const T extends string>(values: readonly T[]): ValueKind<T> {
  return {
    label: values.join(", "),
    words: values,
    expected: `must be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`,
    quotable: always,
    parse: (raw) => values.find((value) => value === textOf(raw)?.toLowerCase()),
    schema: orVariable({ enum: values }),
  };
}
