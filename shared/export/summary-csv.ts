/** The groups of a summary of usage as CSV, a line for each. Pure. */
import type { UsageGroup } from "../api/usage-report.js";
import { lineOfCells, textCell } from "./csv-line.js";

const counts = [
  "requests",
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "unpriced_requests",
  "total_cost",
  "unknown_calls",
  "unknown_tokens_at_most",
  "unknown_cost_at_most",
] as const;

/**
 * The groups as CSV with a header. `name` is empty unless the group is a key with a name. Costs are
 * US dollars.
 */
export function summaryCsv(groups: readonly UsageGroup[]): string {
  return [
    lineOfCells(["key", "name", ...counts]),
    ...groups.map((group) =>
      lineOfCells([
        textCell(group.key),
        textCell(group.name ?? ""),
        ...counts.map((field) => plainNumber(group[field] ?? 0)),
      ]),
    ),
  ].join("");
}

/** Digits without an exponent; sums end at the micro-dollar. */
function plainNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(6).replace(/0+$/, "");
}
