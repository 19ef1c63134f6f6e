/**
 * One limit, `{period or period_seconds, max_requests, max_tokens}`, as the file and the JSON form of
 * a variable write it; and what is wrong with several of them together. The rules for single values
 * are those of the admin API and stand in `../rule.ts`.
 */
import { type Checked, parseCaps, parseLimitKey, periodLabel, type RuleDefinition, ruleId } from "../rule.js";
import type { Mapping } from "./read-mapping.js";

export const limitKeys = ["period", "period_seconds", "max_requests", "max_tokens"] as const;

export interface Limit {
  readonly periodSeconds: number;
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
}

/** A rule and the place that declares it. */
export interface PlacedRule {
  readonly rule: RuleDefinition;
  readonly at: string;
}

/** Checks one limit. Every wrong field is told, not just the first; null when there was one. */
export function parseLimit(fields: Mapping, at: string, problems: string[]): Limit | null {
  const before = problems.length;
  const periodSeconds = valueOf(parseLimitKey(fields, `${at}.`), problems);
  // Each cap by itself first, against a period that allows both, so that a wrong one doesn't hide the other.
  for (const cap of ["max_requests", "max_tokens"] as const) {
    if (fields[cap] !== undefined && fields[cap] !== null) valueOf(parseCaps({ [cap]: fields[cap] }, 60, `${at}.`), problems);
  }
  if (problems.length > before || periodSeconds === null) return null;
  const caps = valueOf(parseCaps(fields, periodSeconds, `${at}.`), problems);
  return caps === null ? null : { periodSeconds, ...caps };
}

function valueOf<T>(checked: Checked<T>, problems: string[]): T | null {
  if (checked.ok) return checked.value;
  problems.push(checked.failure.message);
  return null;
}

/** Rules of one identity that are declared in two places: the second would silently replace the first. */
export function duplicateProblems(rules: readonly PlacedRule[]): readonly string[] {
  const first = new Map<string, string>();
  const problems: string[] = [];
  for (const { rule, at } of rules) {
    const id = ruleId(rule);
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, at);
    else problems.push(`${at} declares the same rule as ${earlier} (${ruleName(rule)}): keep one of them`);
  }
  return problems;
}

/** A rule as messages call it: `/team minute`, `provider openai day`. */
export function ruleName(rule: RuleDefinition): string {
  const who = rule.scope === "user_path" ? rule.subject : `${rule.scope} ${rule.subject}`;
  return `${who} ${periodLabel(rule.periodSeconds)}`;
}
