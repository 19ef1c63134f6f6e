/** Checks the daemon's answer to `usage.summary`. `usage-text.ts` shows it. Pure. */
import { isAbsent, isCount, isObject } from "../../shared/checked.js";
import { unreadableAnswer } from "../session/daemon-answer.js";

/**
 * The summary of GET /v1/usage (docs/http-api.md), with the count of records without a price.
 * Counts are integers from 0, costs US dollars.
 */
export interface UsageTotals extends Readonly<Record<(typeof totalCounts)[number], number>> {
  readonly total_input_cost: number;
  readonly total_output_cost: number;
  readonly total_cost: number;
  /** Null if no record has a price for it. */
  readonly rewrite_cost_saved: number | null;
}

/** A day, model, provider or child path. */
export interface UsageGroup extends Readonly<Record<(typeof groupCounts)[number], number>> {
  readonly key: string;
  /** Of a managed key; else null. */
  readonly name: string | null;
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

/** The fields that are shown; throws `CommandFailure` if the answer has another form. */
export function readSummary(body: unknown): UsageSummary {
  const { usage, groups } = fieldsOf(body);
  if (!Array.isArray(groups) || !groups.every(isGroup) || !isTotals(usage))
    throw unreadableAnswer("usage");
  return {
    usage: { ...usage, rewrite_cost_saved: usage.rewrite_cost_saved ?? null },
    groups: groups.map((group) => ({ ...group, name: group.name ?? null })),
  };
}

function isTotals(value: unknown): value is UsageTotals {
  const fields = fieldsOf(value);
  const saved = fields["rewrite_cost_saved"];
  return (
    totalCounts.every((name) => isCount(fields[name])) &&
    totalCosts.every((name) => isAmount(fields[name])) &&
    (isAbsent(saved) || isAmount(saved))
  );
}

function isGroup(value: unknown): value is UsageGroup {
  const fields = fieldsOf(value);
  return (
    typeof fields["key"] === "string" &&
    groupCounts.every((name) => isCount(fields[name])) &&
    (isAbsent(fields["name"]) || typeof fields["name"] === "string") &&
    isAmount(fields["total_cost"])
  );
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
