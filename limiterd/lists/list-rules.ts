/**
 * Rules for GET /admin/rate-limits (docs/reference/admin-api.md). Reading changes nothing, except
 * that it rolls windows to now.
 */

import type { RuleCounts, RuleItem, RulePage } from "../../shared/api/rule-item.js";
import type { InertReason } from "../../shared/config/inert-rule.js";
import { modeField } from "../../shared/domain/limit-key.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { costUsd } from "../../shared/domain/money.js";
import {
  capFields,
  compareRules,
  keyOfId,
  periodLabel,
  type RuleDefinition,
  scopes,
} from "../../shared/domain/rule.js";
import { whenField } from "../../shared/domain/rule-hours.js";
import { firstAfter } from "../../shared/long-lists.js";
import { formatMillis, formatSeconds } from "../../shared/time.js";
import {
  type Counter,
  capsAt,
  countsOf,
  type Rule,
  type WouldRefuse,
} from "../counters/counter.js";
import { estimateRequests, rollWindow, secondsToCaps, slidingTokens } from "../counters/window.js";
import type { DeclaredLimits } from "../declared-limits.js";
import { isHardCap } from "../rules/hard-limits.js";
import { countersOf, type RuleBook, type RuleCounters } from "../rules/rule-book.js";
import {
  type LastAnswers,
  rank,
  type Slices,
  splitRef,
  templatesOfRules,
  unusedChildrenOnPath,
} from "./fullest.js";
import {
  childAtQueryPath,
  declaredPlace,
  hasChosen,
  isListed,
  type ListQuery,
  matchesChild,
  orders,
  pageOf,
  placeFields,
  sources,
} from "./list-query.js";
import { raisesField } from "./raise-items.js";

interface ListOptions {
  readonly nowMs: number;
  readonly inertReason: InertReason;
  /** The configuration file. */
  readonly configFile: string | null;
  readonly declared: Pick<DeclaredLimits<RuleDefinition>, "get">;
  readonly query: ListQuery;
}

interface RankingPorts extends Pick<Slices, "yieldToEventLoop"> {
  readonly last: LastAnswers<readonly string[]>;
}

/** The filters of the list. */
export const ruleChoices = { scope: scopes, source: sources, order: orders } as const;

/**
 * One page of all rules in the order scope, subject, period, models. If the query's path is a child
 * of a template, it is listed in the place of the template. Pages stay consistent if rules
 * are made or deleted between them.
 */
export function listRules(book: RuleBook, options: ListOptions): RulePage {
  const { nowMs, query } = options;
  const sorted = book.sorted();
  const from = query.after === null ? 0 : firstAfter(sorted, keyOfId(query.after), compareRules);
  const { items, last } = pageOf(
    sorted,
    from,
    query.limit,
    (rule) => isListed(rule, query) || childAtQueryPath(rule, query) !== null,
  );
  return {
    rate_limits: items.map((rule) => {
      const child = childAtQueryPath(rule, query);
      return child === null
        ? listItem(book, book.fresh(rule), options)
        : listedChild(book, { rule, child }, options);
    }),
    server_time: formatMillis(nowMs),
    next: last?.id ?? null,
  };
}

/**
 * The rules and the children of templates with the highest used ratio, the fullest first, on one
 * page. A child that has used nothing is listed only if a search or the query's path names it.
 */
export async function listFullestRules(
  book: RuleBook,
  options: ListOptions,
  { last, yieldToEventLoop }: RankingPorts,
): Promise<RulePage> {
  const { nowMs, query } = options;
  const ratio = (ref: string): number | null => {
    const [id, name] = splitRef(ref);
    const rule = book.rules.get(id);
    if (rule === undefined) return null;
    if (name === null) return isListed(rule, query) ? ratioOf(book.fresh(rule), nowMs) : null;
    const child = matchesChild(query, rule, name) ? book.copyOfKnown(rule, name, nowMs) : undefined;
    if (child === undefined) return null;
    const used = usedRatio(countersOf(child), nowMs);
    return used === 0 && query.search === "" ? null : used;
  };
  const templates = templatesOfRules(book, (rule) => hasChosen(rule, query), nowMs);
  const ranked = { query, limits: book.rules, templates };
  const refs = await rank(last, ranked, ratio, { yieldToEventLoop });
  const unused = unusedChildrenOnPath(book.rules.values(), query, refs);
  return {
    rate_limits: [...refs, ...unused].flatMap((ref) => {
      const [id, name] = splitRef(ref);
      const rule = book.rules.get(id);
      if (rule === undefined) return [];
      if (name === null) return [listItem(book, book.fresh(rule), options)];
      return [listedChild(book, { rule, child: name }, options)];
    }),
    server_time: formatMillis(nowMs),
    next: null,
  };
}

/** A child as an item: its template's definition with its own subject and counts. */
function listedChild(
  book: RuleBook,
  { rule, child }: { readonly rule: Rule; readonly child: string },
  options: ListOptions,
): RuleItem {
  const counters = book.copyOfChild(book.fresh(rule), child, options.nowMs);
  const { subject } = counters.counter;
  return {
    ...listItem(book, rule, options, child),
    subject,
    effective_subject: subject,
    user_path: subject,
    template: rule.definition.subject,
    ...liveCounts(counters, options.nowMs),
  };
}

/**
 * `child`: the item is for this child of a template. It has only the raises of the child, and not
 * what a shadow template would have refused, which isn't counted by child.
 */
function listItem(book: RuleBook, rule: Rule, options: ListOptions, child?: string): RuleItem {
  const { nowMs, inertReason, configFile: file } = options;
  const { scope, subject, periodSeconds, models, when, perChild } = rule.definition;
  const { wouldRefuse } = rule;
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
    ...whenField(when),
    ...modeField(rule.definition),
    ...capFields(rule.definition),
    ...(rule.own === null
      ? { requests_used: 0, tokens_used: 0, in_flight: 0 }
      : liveCounts(countersOf(rule.own), nowMs)),
    ...raisesField(rule, nowMs, child),
    ...(wouldRefuse === null || child !== undefined ? {} : wouldRefuseFields(wouldRefuse)),
    ...(inert === null ? {} : { inert }),
    source: rule.source,
    ...declaredPlace(rule, { file, section: "rate_limits" }),
    ...overridden(rule, options),
    created_at: formatSeconds(rule.createdAtMs),
    updated_at: formatSeconds(rule.updatedAtMs),
  };
}

function wouldRefuseFields({
  count,
  lastAtMs,
}: WouldRefuse): Pick<RuleItem, "would_refuse" | "last_would_refuse_at"> {
  return {
    would_refuse: count,
    ...(lastAtMs === null ? {} : { last_would_refuse_at: formatMillis(lastAtMs) }),
  };
}

/** The configuration's rule that a manual rule overrides. */
function overridden(
  rule: Rule,
  { declared: all, configFile: file }: ListOptions,
): Pick<RuleItem, "overrides"> {
  const inConfig = rule.source === "manual" ? all.get(rule.id) : null;
  if (inConfig === null) return {};
  const { perChild, hostOnly } = inConfig.definition;
  return {
    overrides: {
      ...placeFields(inConfig.definition, inConfig.at, { file, section: "rate_limits" }),
      per_child: perChild,
      ...(hostOnly === true ? { host_only: true } : {}),
      ...capFields(inConfig.definition),
    },
  };
}

/** The used ratio of a rule; 0 for a template, and for a rule that has counted nothing yet. */
function ratioOf(rule: Rule, nowMs: number): number {
  const counted = rule.enqueuedAt === null ? rule.counted : rule.own;
  return counted === null ? 0 : usedRatio(countersOf(counted), nowMs);
}

/**
 * The used ratio of the fullest cap; above 1 if tokens exceed the cap, and 0 for a ban. Rolls the
 * window to now.
 */
export function usedRatio({ counter, parts }: RuleCounters, nowMs: number): number {
  let ratio = ratioOfCounter(counter, nowMs);
  for (const part of parts) ratio = Math.max(ratio, ratioOfCounter(part, nowMs));
  return ratio;
}

function ratioOfCounter(counter: Counter, ownNowMs: number): number {
  const { rule, child } = counter;
  rollWindow(counter.window, rule.periodMs, ownNowMs);
  const { window, inFlight, nowMs } = countsOf(counter, ownNowMs);
  const { maxRequests, maxTokens } = capsAt(rule, child, nowMs);
  if (maxRequests === 0) return 0;
  if (rule.periodMs === 0)
    return Math.max(
      maxRequests === null ? 0 : inFlight / maxRequests,
      enqueuedRatio(counter, nowMs),
    );
  return Math.max(
    maxRequests === null ? 0 : estimateRequests(window, rule.periodMs, nowMs) / maxRequests,
    maxTokens === null ? 0 : slidingTokens(window, rule.periodMs, nowMs) / maxTokens,
  );
}

/** The used part of a cap on the tokens of unfinished batches; 0 without one. */
function enqueuedRatio(counter: Counter, nowMs: number): number {
  const use = enqueuedUse(counter, nowMs);
  return use === null ? 0 : use.used / use.cap;
}

/** The tokens of unfinished batches, and the cap on them; null without such a cap. */
export function enqueuedUse(
  { rule, child, subject }: Counter,
  nowMs: number,
): { readonly used: number; readonly cap: number } | null {
  const cap = capsAt(rule, child, nowMs).measureCaps?.enqueued_tokens;
  if (cap === undefined || rule.enqueuedAt === null) return null;
  return { used: rule.enqueuedAt(subject, nowMs), cap };
}

/** The counts of a counter with the API's names. Rolls the window to now. */
export function liveCounts({ counter, parts }: RuleCounters, ownNowMs: number): RuleCounts {
  const { rule, child } = counter;
  rollWindow(counter.window, rule.periodMs, ownNowMs);
  const { window, inFlight, nowMs } = countsOf(counter, ownNowMs);
  const { maxRequests, maxTokens } = capsAt(rule, child, nowMs);
  if (rule.periodMs === 0) {
    const enqueued = enqueuedUse(counter, nowMs);
    return {
      requests_used: inFlight,
      ...(maxRequests === null ? {} : { requests_remaining: Math.max(0, maxRequests - inFlight) }),
      tokens_used: 0,
      ...(enqueued === null
        ? {}
        : {
            enqueued_tokens_used: enqueued.used,
            enqueued_tokens_remaining: Math.max(0, enqueued.cap - enqueued.used),
          }),
      in_flight: inFlight,
    };
  }
  const requestsUsed = estimateRequests(window, rule.periodMs, nowMs);
  const tokensUsed = slidingTokens(window, rule.periodMs, nowMs);
  const exhaustedIn = secondsToFirst([counter, ...parts], ownNowMs);
  return {
    requests_used: requestsUsed,
    tokens_used: tokensUsed,
    in_flight: inFlight,
    ...(maxRequests === null
      ? {}
      : { requests_remaining: Math.max(0, maxRequests - requestsUsed) }),
    ...(maxTokens === null ? {} : { tokens_remaining: Math.max(0, maxTokens - tokensUsed) }),
    ...(isHardCap(rule) ? { tokens_held: rule.held?.of(child) ?? 0 } : {}),
    ...Object.fromEntries(parts.flatMap((part) => countFields(part, ownNowMs))),
    window_start: formatSeconds(window.startMs),
    window_end: formatSeconds(window.startMs + rule.periodMs),
    ...(exhaustedIn === null ? {} : { exhausted_in_seconds: exhaustedIn }),
  };
}

/**
 * The least of `secondsToCaps` of these counters; null if none will reach its cap, or if one has
 * already. The windows must be rolled to now.
 */
export function secondsToFirst(counters: readonly Counter[], ownNowMs: number): number | null {
  let first: number | null = null;
  for (const counter of counters) {
    const { rule, child } = counter;
    if (ratioOfCounter(counter, ownNowMs) >= 1) return null;
    const { window, nowMs } = countsOf(counter, ownNowMs);
    const seconds = secondsToCaps(window, rule.periodMs, nowMs, capsAt(rule, child, nowMs));
    if (seconds !== null && (first === null || seconds < first)) first = seconds;
  }
  return first;
}

function heldFields(
  { rule, child }: Counter,
  shown: (count: number) => number,
): readonly (readonly [string, number])[] {
  return isHardCap(rule) ? [[`${rule.measure}_held`, shown(rule.held?.of(child) ?? 0)]] : [];
}

function countFields(part: Counter, ownNowMs: number): readonly (readonly [string, number])[] {
  const { measure, periodMs } = part.rule;
  rollWindow(part.window, periodMs, ownNowMs);
  const { window, nowMs } = countsOf(part, ownNowMs);
  const used = slidingTokens(window, periodMs, nowMs);
  const remaining = Math.max(0, capsAt(part.rule, part.child, nowMs).maxTokens! - used);
  const shown = (count: number): number => (measure === "cost" ? costUsd(count) : count);
  return [
    [`${measure}_used`, shown(used)],
    [`${measure}_remaining`, shown(remaining)],
    ...heldFields(part, shown),
  ];
}
