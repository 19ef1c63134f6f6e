/**
 * Rules as GET /admin/rate-limits lists them (docs/http-api.md). Reading changes nothing, except
 * that windows are advanced to the current time.
 */

import { rulesPerPage } from "../../../shared/bounds.js";
import type { InertReason } from "../../../shared/config/inert-rule.js";
import type { RuleKey } from "../../../shared/domain/rule.js";
import { periodLabel } from "../../../shared/domain/rule.js";
import { formatMillis, formatSeconds } from "../../../shared/time.js";
import type { Counter, Rule } from "../../counters/counter.js";
import { estimateRequests, rollWindow, slidingTokens } from "../../counters/window.js";
import type { RuleBook } from "../../rules/rule-book.js";
import { firstAfter } from "../../rules/sorted-rules.js";

interface RuleList {
  readonly rate_limits: readonly Record<string, unknown>[];
  readonly server_time: string;
  /** What to give as `after` for the next page, or null after the last. */
  readonly next: string | null;
}

interface ListOptions {
  readonly nowMs: number;
  readonly inertReason: InertReason;
  /** The `next` of the page before, or null to begin. */
  readonly after: string | null;
}

/**
 * One page of all rules in the order scope, subject, period. Pages stay right when rules come and
 * go between them.
 */
export function listRules(book: RuleBook, options: ListOptions): RuleList {
  const sorted = book.sorted();
  const from = options.after === null ? 0 : firstAfter(sorted, keyOf(options.after));
  const page = sorted.slice(from, from + rulesPerPage);
  const last = page.at(-1);
  return {
    rate_limits: page.map((rule) => listItem(book, book.fresh(rule), options)),
    server_time: formatMillis(options.nowMs),
    next: last !== undefined && from + page.length < sorted.length ? last.id : null,
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
