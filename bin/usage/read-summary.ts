/** Checks the daemon's answer to `usage.summary`. `usage-text.ts` shows it. Pure. */
import type {
  ReportHost,
  ReportHosts,
  UsageGroup,
  UsageTotals,
} from "../../shared/api/usage-report.js";
import { isAbsent, isCount, isObject } from "../../shared/checked.js";
import { unreadableAnswer } from "../session/daemon-answer.js";

/** The displayed totals. */
export type ShownTotals = Pick<
  UsageTotals,
  | (typeof totalCounts)[number]
  | (typeof totalCosts)[number]
  | (typeof unknownUsage)[number]
  | "rewrite_cost_saved"
>;

export interface ShownSummary {
  readonly usage: ShownTotals;
  readonly groups: readonly UsageGroup[];
  /** In order; empty unless hours were asked for. */
  readonly hours: readonly UsedHour[];
  /** Null if hosts don't share their usage. */
  readonly hosts: ReportHosts | null;
}

/** What was used in one hour. */
export interface UsedHour {
  /** Its beginning, such as `2026-02-01T10:00:00Z`. */
  readonly hour: string;
  readonly requests: number;
  readonly tokens: number;
  readonly cost: number;
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
const unknownUsage = ["unknown_calls", "unknown_tokens_at_most", "unknown_cost_at_most"] as const;

/** The displayed fields; throws `CommandFailure` if the answer has another form. */
export function readSummary(body: unknown): ShownSummary {
  const { usage, groups, hosts = null } = fieldsOf(body);
  if (!Array.isArray(groups) || !groups.every(isGroup) || !isTotals(usage))
    throw unreadableAnswer("usage");
  if (hosts !== null && !isHosts(hosts)) throw unreadableAnswer("usage");
  return { usage, groups, hours: readHours(fieldsOf(body)["series"]), hosts };
}

/** The sums of all groups, by hour. */
function readHours(series: unknown): readonly UsedHour[] {
  if (series === undefined) return [];
  const { times, groups } = fieldsOf(series);
  if (!Array.isArray(times) || !Array.isArray(groups)) throw unreadableAnswer("usage");
  const sumOfGroups = (name: string, index: number): number =>
    groups.reduce((sum: number, group: unknown) => {
      const figures = fieldsOf(group)[name];
      const figure: unknown = Array.isArray(figures) ? figures[index] : undefined;
      if (!isAmount(figure)) throw unreadableAnswer("usage");
      return sum + figure;
    }, 0);
  return times.map((hour: unknown, index) => {
    if (typeof hour !== "string") throw unreadableAnswer("usage");
    return {
      hour,
      requests: sumOfGroups("requests", index),
      tokens: sumOfGroups("total_tokens", index),
      cost: sumOfGroups("total_cost", index),
    };
  });
}

function isHosts(value: unknown): value is ReportHosts {
  const { scope, count, oldest_seconds: oldest, complete, reason, parts } = fieldsOf(value);
  return (
    (scope === "all_hosts" || scope === "this_host") &&
    isCount(count, 1) &&
    isAmount(oldest) &&
    typeof complete === "boolean" &&
    (reason === undefined || typeof reason === "string") &&
    (parts === undefined || (Array.isArray(parts) && parts.every(isPart)))
  );
}

function isPart(value: unknown): value is ReportHost {
  const { host, name, age_seconds: age, complete } = fieldsOf(value);
  return (
    typeof host === "string" &&
    typeof name === "string" &&
    (age === null || isAmount(age)) &&
    typeof complete === "boolean"
  );
}

function isTotals(value: unknown): value is ShownTotals {
  const fields = fieldsOf(value);
  const saved = fields["rewrite_cost_saved"];
  return (
    totalCounts.every((name) => isCount(fields[name])) &&
    totalCosts.every((name) => isAmount(fields[name])) &&
    (saved === undefined || isAmount(saved)) &&
    hasUnknown(fields)
  );
}

function hasUnknown(fields: Readonly<Record<string, unknown>>): boolean {
  return unknownUsage.every((name) => fields[name] === undefined || isAmount(fields[name]));
}

function isGroup(value: unknown): value is UsageGroup {
  const fields = fieldsOf(value);
  return (
    typeof fields["key"] === "string" &&
    groupCounts.every((name) => isCount(fields[name])) &&
    (isAbsent(fields["name"]) || typeof fields["name"] === "string") &&
    isAmount(fields["total_cost"]) &&
    hasUnknown(fields)
  );
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
