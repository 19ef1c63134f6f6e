/**
 * Rules as GET /admin/rate-limits lists them (docs/admin-api.md). Reading changes nothing, except
 * that windows are advanced to the current time.
 */

import type { InertReason } from "../../shared/config/inert-rule.js";
import { periodLabel, type RuleKey, scopes } from "../../shared/domain/rule.js";
import { formatMillis, formatSeconds } from "../../shared/time.js";
import type { Counter, Rule } from "../counters/counter.js";
import { estimateRequests, rollWindow, slidingTokens } from "../counters/window.js";
import type { RuleBook } from "../rules/rule-book.js";
import { firstAfter } from "../rules/sorted-rules.js";
import { type ListQuery, matches, pageOf, sources } from "./list-query.js";

interface RuleList {
  readonly rate_limits: readonly Record<string, unknown>[];
  readonly server_time: string;
  /** What to give as `after` for the next page, or null after the last. */
  readonly next: string | null;
}

interface ListOptions {
  readonly nowMs: number;
  readonly inertReason: InertReason;
  readonly query: ListQuery;
}

/** What the list can be narrowed by. */
export const ruleChoices = { scope: scopes, source: sources } as const;

/**
 * One page of all rules in the order scope, subject, period. Pages stay right when rules come and
 * go between them.
 */
export function listRules(book: RuleBook, options: ListOptions): RuleList {
  const { nowMs, query } = options;
  const { scope, source } = query.chosen;
  const sorted = book.sorted();
  const from = query.after === null ? 0 : firstAfter(sorted, keyOf(query.after));
  const { items, last } = pageOf(
    sorted,
    from,
    query.limit,
    (rule) =>
      (scope === undefined || rule.definition.scope === scope) &&
      (source === undefined || rule.source === source) &&
      matches(query, rule.definition.subject),
  );
  return {
    rate_limits: items.map((rule) => listItem(book, book.fresh(rule), options)),
    server_time: formatMillis(nowMs),
    next: last?.id ?? null,
  };
}

/** The key that a page's `next` names. */
function keyOf(after: string): RuleKey {
  const [scope, subject, periodSeconds] = after.split("\n");
  return { scope, subject: subject ?? "", periodSeconds: Number(periodSeconds) } as RuleKey;
}

function listItem(
  book: RuleBook,
  rule: Rule,
  { nowMs, inertReason }: ListOptions,
): Record<string, unknown> {
  const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild } = rule.definition;
  const item: Record<string, unknown> = {
    scope,
    subject,
    effective_subject: book.effectiveSubject(rule.definition),
  };
  if (scope === "user_path") item["user_path"] = subject;
  item["per_child"] = perChild;
  item["period_label"] = periodLabel(periodSeconds);
  item["period_seconds"] = periodSeconds;
  if (maxRequests !== null) item["max_requests"] = maxRequests;
  if (maxTokens !== null) item["max_tokens"] = maxTokens;
  Object.assign(
    item,
    rule.own === null
      ? { requests_used: 0, tokens_used: 0, in_flight: 0 }
      : liveCounts(rule.own, nowMs),
  );
  const inert = inertReason(rule.definition);
  if (inert !== null) item["inert"] = inert;
  item["source"] = rule.source;
  item["created_at"] = formatSeconds(rule.createdAtMs);
  item["updated_at"] = formatSeconds(rule.updatedAtMs);
  return item;
}

/** The counts of a counter, by the names of the API. Its window is advanced to the current time. */
export function liveCounts(
  { rule, window, inFlight }: Counter,
  nowMs: number,
): Record<string, unknown> {
  const { maxRequests, maxTokens } = rule.definition;
  if (rule.periodMs === 0) {
    return {
      requests_used: inFlight,
      requests_remaining: Math.max(0, maxRequests! - inFlight),
      tokens_used: 0,
      in_flight: inFlight,
    };
  }
  rollWindow(window, rule.periodMs, nowMs);
  const requestsUsed = estimateRequests(window, rule.periodMs, nowMs);
  const tokensUsed = slidingTokens(window, rule.periodMs, nowMs);
  const counts: Record<string, unknown> = {
    requests_used: requestsUsed,
    tokens_used: tokensUsed,
    in_flight: inFlight,
  };
  if (maxRequests !== null) counts["requests_remaining"] = Math.max(0, maxRequests - requestsUsed);
  if (maxTokens !== null) counts["tokens_remaining"] = Math.max(0, maxTokens - tokensUsed);
  counts["window_start"] = formatSeconds(window.startMs);
  counts["window_end"] = formatSeconds(window.startMs + rule.periodMs);
  return counts;
}
