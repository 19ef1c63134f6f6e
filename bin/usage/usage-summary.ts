/**
 * The daemon's answer to `usage.summary`, checked. What is shown of it is `usage-text.ts`'s matter.
 * Pure.
 */
import { isCount } from "../../shared/assert.js";
import { plainFailure } from "../../shared/error-code.js";
import { refusal } from "../session/command-failure.js";

/**
 * The summary of SPEC.md, with the count of records without a price. Counts are integers from 0,
 * costs US dollars.
 */
export interface UsageTotals extends Readonly<Record<(typeof totalCounts)[number], number>> {
  readonly total_input_cost: number;
  readonly total_output_cost: number;
  readonly total_cost: number;
  /** Null when no record priced it. */
  readonly rewrite_cost_saved: number | null;
}

/** A day, model, provider or child path. */
export interface UsageGroup extends Readonly<Record<(typeof groupCounts)[number], number>> {
  readonly key: string;
  readonly total_cost: number;
}

export interface UsageSummary {
  readonly usage: UsageTotals;
  readonly groups: readonly UsageGroup[];
}

const totalCounts = [
  "total_requests",
  "total_input_tokens",
  "total_output_tokens",
  "total_tokens",
  "cached_input_tokens",
  "cache_write_input_tokens",
  "rewrite_tokens_saved",
  "unpriced_requests",
] as const;
const totalCosts = ["total_input_cost", "total_output_cost", "total_cost"] as const;
const groupCounts = [
  "requests",
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "unpriced_requests",
] as const;

/** The parts that are shown; throws `CommandFailure` when the daemon speaks of something else. */
export function usageSummaryFrom(body: unknown): UsageSummary {
  const { usage, groups } = fieldsOf(body);
  if (!Array.isArray(groups) || !groups.every(isGroup) || !isTotals(usage))
    throw unreadableAnswer("usage");
  return { usage: { ...usage, rewrite_cost_saved: usage.rewrite_cost_saved ?? null }, groups };
}

/** What both sides don't mean the same by. */
export function unreadableAnswer(what: string): Error {
  return refusal(
    plainFailure(
      500,
      "internal_error",
      `the daemon's ${what} can't be read: daemon and command line are of different versions`,
    ),
  );
}

function isTotals(value: unknown): value is UsageTotals {
  const fields = fieldsOf(value);
  const saved = fields["rewrite_cost_saved"];
  return (
    totalCounts.every((name) => isCount(fields[name])) &&
    totalCosts.every((name) => isAmount(fields[name])) &&
    (saved === undefined || saved === null || isAmount(saved))
  );
}

function isGroup(value: unknown): value is UsageGroup {
  const fields = fieldsOf(value);
  return (
    typeof fields["key"] === "string" &&
    groupCounts.every((name) => isCount(fields[name])) &&
    isAmount(fields["total_cost"])
  );
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return (typeof value === "object" && value !== null ? value : {}) as Readonly<
    Record<string, unknown>
  >;
}
