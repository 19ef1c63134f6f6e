/**
 * Explains what would happen to a request now, and why: its rules, their counts, and the verdict.
 * It uses the same function as admissions (`rules/judge.ts`), but copies of the counters: it counts
 * no request, rolls no window and creates no child of a template.
 */
import type {
  ExplainedRule,
  ExplainedShare,
  ExplainedTarget,
  ExplainedVerdict,
  RulesExplanation,
} from "../../../shared/api/explanation.js";
import { secondsToSweepAll } from "../../../shared/bounds.js";
import { tokensInert } from "../../../shared/config/inert-rule.js";
import { modeField } from "../../../shared/domain/limit-key.js";
import { modelsField } from "../../../shared/domain/limited-models.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import { capFields, periodLabel } from "../../../shared/domain/rule.js";
import { whenField } from "../../../shared/domain/rule-hours.js";
import { type Target, targetName } from "../../../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../../../shared/domain/verdict.js";
import { formatMillis } from "../../../shared/time.js";
import { judgeTargetBudgets } from "../../budgets/judge-budgets.js";
import { type Counter, capsOf, isNewChild, isOff } from "../../counters/counter.js";
import { shareOfNewCap } from "../../counters/shared-cap.js";
import { expectedSeconds } from "../../lists/list-queues.js";
import { admittedAt, explainBreach, retryAfter } from "../../lists/list-refusals.js";
import { liveCounts } from "../../lists/list-rules.js";
import { raisesField } from "../../lists/raise-items.js";
import {
  type AdmissionOptions,
  breachOf,
  isFull,
  type JudgedRequest,
  type Judgement,
  judge,
  reportBreach,
  shareBreach,
  type WaitersAhead,
  waitOfRequests,
  waitOfTokens,
} from "../../rules/judge.js";
import {
  type SharedCounter,
  sharedCapOf,
  sharerOf,
  usedByAsking,
} from "../../rules/judge-share.js";
import { breachShownTo, isShown } from "../../rules/limits-above.js";
import { byRule, hasWindow, type RuleBook, type RuleCounters } from "../../rules/rule-book.js";
import type { ShadowRules } from "../../rules/shadow-rules.js";

/** Explains a request with the current rules and counters. */
export function explainVerdict(
  book: Pick<RuleBook, "copyPath" | "copyTarget"> & Partial<Pick<RuleBook, "shadows">>,
  request: JudgedRequest,
  options: AdmissionOptions,
): RulesExplanation {
  const matched = book.copyPath(request.userPath, options.nowMs);
  const pathCounters = request.submission ? matched.filter(hasWindow) : matched;
  const candidates = request.submission ? [] : request.targets;
  const targetCounters = new Map(
    candidates.map((target) => [target, book.copyTarget(target, request.userPath, options.nowMs)]),
  );
  const matchTarget = (target: Target): Counter[] => targetCounters.get(target) ?? [];
  const judgement = judge({ matchPath: () => pathCounters, matchTarget }, request, options);
  const rules = byRule(pathCounters).map((counters) => explainRule(counters, options));
  const targets = candidates.map((target, index): ExplainedTarget => {
    const counters = matchTarget(target);
    const breach =
      breachOf(counters, options) ??
      upstreamBreachOf(target, options) ??
      budgetBreachOf(target, request, options);
    return {
      target: targetName(target),
      chosen: judgement.kind === "admitted" && judgement.target === index,
      admits: breach === null,
      message:
        breach === null ? null : refusalMessage(breachShownTo(options.viewer ?? null, breach)),
      retry_after: breach === null ? 0 : retryAfter(breach),
      rules: byRule(counters).map((ofRule) => explainRule(ofRule, options)),
    };
  });
  const { viewer = null } = options;
  const shown = <R extends { readonly scope: string; readonly subject: string }>(
    limits: readonly R[],
  ): readonly R[] => limits.filter((rule) => isShown(rule, viewer));
  const target = judgement.kind === "admitted" ? (candidates[judgement.target] ?? null) : null;
  const shadows = explainShadows(book.shadows ?? null, { request, target }, options);
  return {
    server_time: formatMillis(options.nowMs),
    user_path: request.userPath,
    verdict: describeJudgement(judgement, rules, targets, options),
    rules: shown(rules),
    targets: targets.map((target) => ({ ...target, rules: shown(target.rules) })),
    ...(shown(shadows).length === 0 ? {} : { shadows: shown(shadows) }),
  };
}

/** The shadow rules of the path and of the target that a request would go to. */
function explainShadows(
  shadows: ShadowRules | null,
  { request: { userPath, submission }, target }: ShadowQuestion,
  options: AdmissionOptions,
): readonly ExplainedRule[] {
  if (shadows === null) return [];
  const counters = shadows.copy({ userPath, target, atPath: true }, options.nowMs);
  return byRule(submission ? counters.filter(hasWindow) : counters).map((ofRule) => {
    const explained = explainRule(ofRule, options);
    const { counter, parts } = ofRule;
    return { ...explained, would_refuse: breachOf([counter, ...parts], options) !== null };
  });
}

interface ShadowQuestion {
  readonly request: JudgedRequest;
  readonly target: Target | null;
}

/** The provider's own limit that refuses requests to a target. */
function upstreamBreachOf(target: Target, { upstream, nowMs }: AdmissionOptions): Breach | null {
  const breach = upstream?.targetOf(target, nowMs)?.breach(nowMs) ?? null;
  return breach === null ? null : reportBreach(breach);
}

/** The breach of the budgets for some models that cover a target. */
function budgetBreachOf(
  target: Target,
  { userPath, session }: JudgedRequest,
  { budgets = null, nowMs }: AdmissionOptions,
): Breach | BudgetBreach | null {
  return budgets === null
    ? null
    : judgeTargetBudgets(budgets.book, { target, userPath, session }, nowMs);
}

function describeJudgement(
  judgement: Judgement,
  rules: readonly ExplainedRule[],
  targets: readonly ExplainedTarget[],
  { nowMs, waiters = null, viewer = null }: AdmissionOptions,
): ExplainedVerdict {
  if (judgement.kind === "admitted")
    return {
      admitted: true,
      target: targets[judgement.target]?.target ?? null,
      retry_after: 0,
      admitted_at: formatMillis(nowMs),
    };
  const { waitSeconds } = judgement.breach;
  const isTargetFreeInTime =
    targets.length === 0 ||
    targets.some(
      ({ retry_after: wait, rules: ofTarget }) =>
        wait !== null && wait <= waitSeconds && !waitsForSlot(ofTarget),
    );
  return {
    admitted: false,
    ...explainBreach(breachShownTo(viewer, judgement.breach)),
    admitted_at: admittedAt(judgement.breach, nowMs),
    // Time alone frees no slot: the estimate is valid only if a request in flight ends by then.
    needs_slot:
      judgement.breach.dimension !== "banned" && (waitsForSlot(rules) || !isTargetFreeInTime),
    ...queueField(judgement, waiters),
  };
}

/** Where the request would wait for the counter that refuses it, if requests wait there. */
function queueField(
  judgement: Judgement,
  waiters: WaitersAhead | null,
): Pick<Extract<ExplainedVerdict, { admitted: false }>, "queue"> {
  const counter = judgement.kind === "refused" ? judgement.counter : undefined;
  const end = counter === undefined ? null : (waiters?.atEnd(counter) ?? null);
  if (end === null) return {};
  return {
    queue: { position: end.position, expected_seconds: expectedSeconds(end.expectedMs) },
  };
}

function waitsForSlot(rules: readonly ExplainedRule[]): boolean {
  return rules.some(({ breached }) => breached.includes("concurrent"));
}

/**
 * `counters`: copies, because their windows are rolled to now. The wait of a full concurrency rule
 * is given as 1, an estimate.
 */
function explainRule(counters: RuleCounters, options: AdmissionOptions): ExplainedRule {
  const { counter, childCounter, parts } = counters;
  const { definition, periodMs, source } = counter.rule;
  const { scope, periodSeconds, models, when, perChild, hostOnly } = definition;
  const caps = capsOf(counter, options.nowMs);
  const { maxRequests } = caps;
  const live = liveCounts(counters, options.nowMs);
  const isRuleOff = isOff(counter.rule, options.nowMs);
  const banned = maxRequests === 0 && !isRuleOff;
  const concurrent = !banned && !isRuleOff && periodMs === 0 && isFull(counter, options);
  const requestsWait = maxRequests === 0 || periodMs === 0 ? 0 : waitOfRequests(counter, options);
  const tokensWait = periodMs === 0 ? 0 : waitOfTokens(counter, options);
  const waits = parts.map((part) => ({
    measure: part.rule.measure!,
    wait: waitOfTokens(part, options),
  }));
  const share = childCounter === undefined ? null : { counter, childCounter };
  const refusedShare = share === null ? null : shareBreach(share, options);
  const hasNoRoom = !banned && !isRuleOff && isNewChild(counter) && counter.rule.children.isFull;
  const inert = tokensInert(definition, options.tokensEnforced);
  return {
    scope,
    subject: counter.subject,
    ...(perChild ? { template: definition.subject } : {}),
    ...(hostOnly === true ? { host_only: true } : {}),
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...whenField(when),
    ...modeField(definition),
    ...capFields({ ...definition, ...caps }),
    ...live,
    ...raisesField(counter.rule, options.nowMs, counter.child),
    source,
    breached: [
      ...(banned ? ["banned"] : []),
      ...(hasNoRoom ? ["children"] : []),
      ...(concurrent ? ["concurrent"] : []),
      ...(requestsWait > 0 ? ["requests"] : []),
      ...(tokensWait > 0 ? ["tokens"] : []),
      ...waits.flatMap(({ measure, wait }) => (wait > 0 ? [measure] : [])),
      ...(refusedShare === null ? [] : ["share"]),
    ],
    ...(share === null ? {} : { child_share: explainShare(share, options.nowMs) }),
    retry_after: banned
      ? null
      : Math.max(
          hasNoRoom ? secondsToSweepAll : 0,
          concurrent ? 1 : 0,
          requestsWait,
          refusedShare?.waitSeconds ?? 0,
          waits.reduce((longest, { wait }) => Math.max(longest, wait), tokensWait),
        ),
    ...(inert === null ? {} : { inert }),
  };
}

/** The child's share of the rule's first cap: that on requests or slots, else that on tokens. */
function explainShare(shared: SharedCounter, nowMs: number): ExplainedShare {
  const { counter } = shared;
  const { rule } = counter;
  const { maxRequests, maxTokens } = capsOf(counter, nowMs);
  const isGauge = rule.periodMs === 0;
  const unit = isGauge ? "slots" : maxRequests !== null ? "requests" : "tokens";
  const cap = maxRequests ?? maxTokens ?? 0;
  const child = sharerOf(shared);
  const { childShares = {} } = rule.definition;
  const { weight, weights, priority, part, floor } =
    sharedCapOf(shared)?.shareNow(child, cap, nowMs) ?? shareOfNewCap(childShares, child, cap);
  const used = usedByAsking(shared, unit, nowMs);
  return { child, unit, weight, weights, priority, used, part, floor: floor * cap };
}
