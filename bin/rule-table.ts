/** Which rules are shown, and how. Pure; the rules are the API's own objects. */
import { effectiveSubject, type RuleKey, type Scope } from "../shared/rule.js";
import { formatDuration } from "./duration.js";
import type { ListedRule, RuleList } from "./list-rules.js";
import { type Column, renderTable } from "./table.js";

/** What `limits list` is narrowed to; null where it isn't. */
export interface RuleFilter {
  readonly scope: Scope | null;
  /** A normal user path: the rules that apply to a caller with it, as in /v1/usage. */
  readonly path: string | null;
}

const columns: readonly Column[] = [
  { title: "SCOPE", align: "left" },
  { title: "SUBJECT", align: "left" },
  { title: "PERIOD", align: "left" },
  { title: "REQUESTS", align: "right" },
  { title: "TOKENS", align: "right" },
  { title: "IN FLIGHT", align: "right" },
  { title: "RESETS IN", align: "right" },
  { title: "SOURCE", align: "left" },
];

/** The table of `limits list`, and below it the rules that do nothing; one sentence when there is nothing to show. */
export function renderRules(list: RuleList): string {
  if (list.rate_limits.length === 0) return "no rules";
  const nowMs = Date.parse(list.server_time);
  const table = renderTable(columns, list.rate_limits.map((rule) => ruleRow(rule, nowMs)));
  const inert = list.rate_limits.filter((rule) => typeof rule["inert"] === "string");
  return [table, ...inert.map((rule) => `inert: ${String(rule["scope"])} ${String(rule["subject"])} ${String(rule["period_label"])}: ${String(rule["inert"])}`)].join("\n");
}

/** The part of the list that a filter leaves. */
export function filterRules(list: RuleList, filter: RuleFilter): RuleList {
  const { scope, path } = filter;
  const kept = list.rate_limits.filter((rule) => (scope === null || rule["scope"] === scope) && (path === null || covers(rule, path)));
  return { ...list, rate_limits: kept };
}

/** The rules on one subject, or the one rule of a key. */
export function rulesOn(list: RuleList, key: Pick<RuleKey, "scope" | "subject"> & { readonly periodSeconds?: number }): RuleList {
  const subject = effectiveSubject(key.scope, key.subject);
  const kept = list.rate_limits.filter((rule) => {
    const theirs = effectiveSubject(key.scope, String(rule["subject"]));
    return rule["scope"] === key.scope && theirs === subject && (key.periodSeconds === undefined || rule["period_seconds"] === key.periodSeconds);
  });
  return { ...list, rate_limits: kept };
}

/** A template's own path isn't matched by it, only what lies below (CONTRACT section 3). */
function covers(rule: ListedRule, path: string): boolean {
  const subject = rule["subject"];
  if (rule["scope"] !== "user_path" || typeof subject !== "string") return false;
  if (path === subject) return rule["per_child"] !== true;
  return path.startsWith(subject === "/" ? "/" : `${subject}/`);
}

function ruleRow(rule: ListedRule, nowMs: number): readonly string[] {
  const template = rule["per_child"] === true;
  const concurrent = rule["period_seconds"] === 0;
  return [
    String(rule["scope"]),
    template ? `${String(rule["subject"])} (each child)` : String(rule["subject"]),
    String(rule["period_label"]),
    concurrent ? "-" : usedOf(rule["requests_used"], rule["max_requests"], template),
    concurrent ? "-" : usedOf(rule["tokens_used"], rule["max_tokens"], template),
    concurrent ? usedOf(rule["in_flight"], rule["max_requests"], template) : "-",
    untilReset(rule["window_end"], nowMs),
    String(rule["source"] ?? "-"),
  ];
}

/** `12/100`; `-` without a cap. A template has no counter of its own: `-/100`. */
export function usedOf(used: unknown, cap: unknown, template: boolean): string {
  if (typeof cap !== "number") return "-";
  return `${template || typeof used !== "number" ? "-" : used}/${cap}`;
}

/** Until the end of a window, `-` without one. */
export function untilReset(windowEnd: unknown, nowMs: number): string {
  const endMs = typeof windowEnd === "string" ? Date.parse(windowEnd) : Number.NaN;
  return Number.isNaN(endMs - nowMs) ? "-" : formatDuration((endMs - nowMs) / 1000);
}
