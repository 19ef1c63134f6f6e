/**
 * Rules for GET /admin/rate-limits (docs/reference/admin-api.md). Reading changes nothing, except
 * that it rolls windows to now.
 */

import type { RuleCounts, RuleItem, RulePage } from "../../shared/api/rule-item.js";
import type { InertReason } from "../../shared/config/inert-rule.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import {
  compareRules,
  periodLabel,
  type RuleDefinition,
  type RuleKey,
  scopes,
} from "../../shared/domain/rule.js";
import { firstAfter } from "../../shared/long-lists.js";
import { formatMillis, formatSeconds } from "../../shared/time.js";
import type { Counter, Rule } from "../counters/counter.js";
import { estimateRequests, rollWindow, secondsToCaps, slidingTokens } from "../counters/window.js";
import type { DeclaredLimits } from "../declared-limits.js";
import type { RuleBook } from "../rules/rule-book.js";
import { countsOf } from "../rules/success-headers.js";
import { fullest } from "./fullest.js";
import {
  declared,
  isListed,
  type ListQuery,
  orders,
  pageOf,
  placed,
  sources,
} from "./list-query.js";

interface ListOptions {
  readonly nowMs: number;
  readonly inertReason: InertReason;
  /** The configuration file. */
  readonly configFile: string | null;
  readonly declared: Pick<DeclaredLimits<RuleDefinition>, "get">;
  readonly query: ListQuery;
}

/** The filters of the list. */
export const ruleChoices = { scope: scopes, source: sources, order: orders } as const;

/**
 * One page of all rules in the order scope, subject, period, models. Pages stay consistent if rules
 * are made or deleted between them.
 */
export function listRules(book: RuleBook, options: ListOptions): RulePage {
  const { nowMs, query } = options;
  const sorted = book.sorted();
  const from = query.after === null ? 0 : firstAfter(sorted, keyOf(query.after), compareRules);
  const { items, last } = pageOf(sorted, from, query.limit, (rule) => isListed(rule, query));
  return {
    rate_limits: items.map((rule) => listItem(book, book.fresh(rule), options)),
    server_time: formatMillis(nowMs),
    next: last?.id ?? null,
  };
}

/**
 * The rules with the highest used ratio, the fullest first: one page, whose `next` is null. Rules
 * are examined in slices and then shown with their values at the end.
 */
export async function listFullestRules(
  book: RuleBook,
  options: ListOptions,
  yieldToEventLoop: () => Promise<void>,
): Promise<RulePage> {
  const { nowMs, query } = options;
  const ids = await fullest(
    book.rules.keys(),
    query.limit,
    (id) => {
      const rule = book.rules.get(id)!;
      return isListed(rule, query) ? ratioOf(book.fresh(rule), nowMs) : null;
    },
    { yieldToEventLoop },
  );
  return {
    rate_limits: ids.flatMap((id) => {
      const rule = book.rules.get(id);
      return rule === undefined ? [] : [listItem(book, book.fresh(rule), options)];
    }),
    server_time: formatMillis(nowMs),
    next: null,
  };
}

/** The key that a page's `next` names. */
function keyOf(after: string): RuleKey {
  const [scope, subject = "", periodSeconds, models] = after.split("\n");
  return { scope, subject, periodSeconds: Number(periodSeconds), models } as RuleKey;
}

function listItem(book: RuleBook, rule: Rule, options: ListOptions): RuleItem {
  const { nowMs, inertReason, configFile: file } = options;
  const { scope, subject, periodSeconds, models, maxRequests, maxTokens, perChild } =
    rule.definition;
  const hostOnly = rule.definition.hostOnly === true;
  const inert = inertReason(rule.definition);
  return {
    scope,
    subject,
    effective_subject: book.effectiveSubject(rule.definition),
    ...(scope === "user_path" ? { user_path: subject } : {}),
    per_child: perChild,
    ...(hostOnly ? { host_only: true } : {}),
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...(maxRequests === null ? {} : { max_requests: maxRequests }),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(rule.own === null
      ? { requests_used: 0, tokens_used: 0, in_flight: 0 }
      : liveCounts(rule.own, nowMs)),
    ...(inert === null ? {} : { inert }),
    source: rule.source,
    ...declared(rule, { file, section: "rate_limits" }),
    ...overridden(rule, options),
    created_at: formatSeconds(rule.createdAtMs),
    updated_at: formatSeconds(rule.updatedAtMs),
  };
}

/** The configuration's rule that a manual rule overrides. */
function overridden(
  rule: Rule,
  { declared: all, configFile: file }: ListOptions,
): Pick<RuleItem, "overrides"> {
  const theirs = rule.source === "manual" ? all.get(rule.id) : null;
  if (theirs === null) return {};
  const { maxRequests, maxTokens, perChild, hostOnly } = theirs.definition;
  return {
    overrides: {
      ...placed(theirs.definition, theirs.at, { file, section: "rate_limits" }),
      per_child: perChild,
      ...(hostOnly === true ? { host_only: true } : {}),
      ...(maxRequests === null ? {} : { max_requests: maxRequests }),
      ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    },
  };
}

/** The used ratio of a rule; 0 for a template, and for a rule that has counted nothing yet. */
function ratioOf({ counted }: Rule, nowMs: number): number {
  return counted === null ? 0 : usedRatio(counted, nowMs);
}

/**
 * The used ratio of the fullest cap; above 1 if tokens exceed the cap, and 0 for a ban. Rolls the
 * window to now.
 */
export function usedRatio(counter: Counter, ownNowMs: number): number {
  const { rule } = counter;
  const { maxRequests, maxTokens } = rule.definition;
  if (maxRequests === 0) return 0;
  rollWindow(counter.window, rule.periodMs, ownNowMs);
  const { window, inFlight, nowMs } = countsOf(counter, ownNowMs);
  if (rule.periodMs === 0) return inFlight / maxRequests!;
  return Math.max(
    maxRequests === null ? 0 : estimateRequests(window, rule.periodMs, nowMs) / maxRequests,
    maxTokens === null ? 0 : slidingTokens(window, rule.periodMs, nowMs) / maxTokens,
  );
}

/** The counts of a counter with the API's names. Rolls the window to now. */
export function liveCounts(counter: Counter, ownNowMs: number): RuleCounts {
  const { rule } = counter;
  const { maxRequests, maxTokens } = rule.definition;
  rollWindow(counter.window, rule.periodMs, ownNowMs);
  const { window, inFlight, nowMs } = countsOf(counter, ownNowMs);
  if (rule.periodMs === 0) {
    return {
      requests_used: inFlight,
      requests_remaining: Math.max(0, maxRequests! - inFlight),
      tokens_used: 0,
      in_flight: inFlight,
    };
  }
  const requestsUsed = estimateRequests(window, rule.periodMs, nowMs);
  const tokensUsed = slidingTokens(window, rule.periodMs, nowMs);
  const exhaustedIn = secondsToCaps(window, rule.periodMs, nowMs, rule.definition);
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
    ...(exhaustedIn === null ? {} : { exhausted_in_seconds: exhaustedIn }),
  };
}
