/**
 * Rules as GET /admin/rate-limits lists them (docs/admin-api.md). Reading changes nothing, except
 * that windows are advanced to the current time.
 */

import type { RuleCounts, RuleItem, RulePage } from "../../shared/api/rule-item.js";
import type { InertReason } from "../../shared/config/inert-rule.js";
import { compareRules, periodLabel, type RuleKey, scopes } from "../../shared/domain/rule.js";
import { firstAfter } from "../../shared/long-lists.js";
import { formatMillis, formatSeconds } from "../../shared/time.js";
import type { Counter, Rule } from "../counters/counter.js";
import { estimateRequests, rollWindow, slidingTokens } from "../counters/window.js";
import type { RuleBook } from "../rules/rule-book.js";
import { type ListQuery, matches, pageOf, sources } from "./list-query.js";

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
export function listRules(book: RuleBook, options: ListOptions): RulePage {
  const { nowMs, query } = options;
  const { scope, source } = query.chosen;
  const sorted = book.sorted();
  const from = query.after === null ? 0 : firstAfter(sorted, keyOf(query.after), compareRules);
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

function listItem(book: RuleBook, rule: Rule, { nowMs, inertReason }: ListOptions): RuleItem {
  const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild } = rule.definition;
  const inert = inertReason(rule.definition);
  return {
    scope,
    subject,
    effective_subject: book.effectiveSubject(rule.definition),
    ...(scope === "user_path" ? { user_path: subject } : {}),
    per_child: perChild,
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    ...(maxRequests === null ? {} : { max_requests: maxRequests }),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(rule.own === null
      ? { requests_used: 0, tokens_used: 0, in_flight: 0 }
      : liveCounts(rule.own, nowMs)),
    ...(inert === null ? {} : { inert }),
    source: rule.source,
    created_at: formatSeconds(rule.createdAtMs),
    updated_at: formatSeconds(rule.updatedAtMs),
  };
}

/** The counts of a counter, by the names of the API. Its window is advanced to the current time. */
export function liveCounts({ rule, window, inFlight }: Counter, nowMs: number): RuleCounts {
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
  return {
    requests_used: requestsUsed,
    tokens_used: tokensUsed,
    in_flight: inFlight,
    ...(maxRequests === null
      ? {}
      : { requests_remaining: Math.max(0, maxRequests - requestsUsed) }),
    ...(maxTokens === null ? {} : { tokens_remaining: Math.max(0, maxTokens - tokensUsed) }),
    window_start: formatSeconds(window.startMs),
    window_end: formatSeconds(window.startMs + rule.periodMs),
  };
}
