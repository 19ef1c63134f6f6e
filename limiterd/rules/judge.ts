/**
 * The decision on one request: the rules of its path and of the first target with room must all
 * admit it, and then its budgets. This is one synchronous step that changes no count; the clock is
 * an argument. `admit.ts` counts what is admitted here. `explain-verdict.ts` judges copies of the
 * counters with the same function, so an explanation can't differ from an admission.
 */

import { secondsToSweepAll } from "../../shared/bounds.js";
import { isLenient, useField } from "../../shared/domain/on-exhausted.js";
import { compareRules } from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { TokenWeights } from "../../shared/domain/token-weights.js";
import {
  type Breach,
  type BudgetBreach,
  bannedWaitSeconds,
  type Dimension,
} from "../../shared/domain/verdict.js";
import type { Metered } from "../../shared/wire/message-to-daemon.js";
import { type BudgetMatching, judgeBudgets, judgeTargetBudgets } from "../budgets/judge-budgets.js";
import {
  type Counter,
  capsOf,
  isNewChild,
  isOff,
  type Rule,
  shareOf,
} from "../counters/counter.js";
import { rollWindow, waitForRequests, waitForTokens } from "../counters/window.js";
import type { UpstreamJudging, UpstreamTarget } from "../upstream/upstream-book.js";
import {
  claimNeeds,
  type Demand,
  demandAt,
  hardRules,
  isHardCap,
  needOf,
  weightsOfRule,
} from "./hard-limits.js";
import { hasFloorLeft, type SharedCounter, sharerOf, waitForShare } from "./judge-share.js";
import type { Viewer } from "./limits-above.js";
import { hasWindow, inRuleOrder, type Matching } from "./rule-book.js";

export interface JudgedRequest {
  readonly userPath: string;
  /** As the request names it, if budgets ask for it; absent or empty: it names none. */
  readonly session?: string | undefined;
  /**
   * In order of preference. If empty, the path and the budgets are judged and nothing is counted.
   */
  readonly targets: readonly Target[];
  /**
   * Whether the request hands in work for later, such as a batch: it counts as one request of the
   * path, at no target and without a slot.
   */
  readonly submission: boolean;
  /** What it may use, for hard caps; absent if it doesn't say. */
  readonly metered?: Metered | undefined;
}

export interface AdmissionOptions extends BreachOptions {
  /**
   * The budgets, and the labels of the caller's key. Null or absent if no budget is judged, because
   * budgets are off. Without labels the budgets for all models have already admitted this request,
   * and only those of targets are judged.
   */
  readonly budgets?: {
    readonly book: BudgetMatching;
    readonly labels: readonly string[] | null;
  } | null;
  /**
   * With shared counters: whether one of them lacked fresh counts for this decision. Null or
   * absent: the last known counts are used.
   */
  readonly turn?: { readonly isUnsure: boolean } | null;
  /** The providers' own limits; null or absent if verdicts don't depend on them. */
  readonly upstream?: UpstreamJudging | null;
}

/** A rule refuses the request, or a template whose children have reached their bound. */
export interface Refused {
  readonly kind: "refused";
  readonly breach: Breach;
  /** The counter that refuses it; absent if a budget's template does. */
  readonly counter?: Counter;
  /** True if the counter has room, but older requests wait for it. */
  readonly isBehind?: boolean;
}

/**
 * The decision before anything is counted: the index of the target, and the counters that a request
 * to it would increment, even if a budget refuses it.
 */
export type Judgement =
  | { readonly kind: "admitted"; readonly target: number; readonly counters: readonly Counter[] }
  | Refused
  | {
      readonly kind: "exceeded";
      readonly breach: BudgetBreach;
      readonly counters: readonly Counter[];
    };

/** Decides on a request. Rolls the windows that it reads to now and changes no count. */
export function judge(
  matching: Matching,
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  if (request.submission) return judgeSubmission(matching, request, options);
  const pathCounters = matching.matchPath(request.userPath, options.nowMs);
  const { metered } = request;
  // What a request may cost the path depends on the target.
  const pathBreach =
    metered === undefined || request.targets.length === 0
      ? longestBreach(pathCounters, options)
      : null;
  if (request.targets.length === 0)
    return pathBreach === null
      ? judgeByBudgets(0, pathCounters, request, options)
      : refusedBy(pathBreach);
  let targetBreach: CounterBreach | null = null;
  let overBudget: OverBudget | null = null;
  for (let i = 0; i < request.targets.length; i++) {
    const target = request.targets[i]!;
    const matched = matching.matchTarget(target, request.userPath, options.nowMs);
    const upstream = options.upstream?.targetOf(target, options.nowMs) ?? null;
    const targetCounters = withGauge(matched, upstream);
    const demand = metered === undefined ? undefined : demandAt(metered, i);
    const breach =
      (demand === undefined
        ? longestBreach(matched, options)
        : longestBreach(inRuleOrder(matched, pathCounters), { ...options, demand })) ??
      (upstream === null ? null : upstreamBreach(upstream, options));
    if (breach !== null) {
      targetBreach = targetBreach === null ? breach : shorterBreach(targetBreach, breach);
      continue;
    }
    const spent =
      demand === undefined
        ? judgeByTargetBudgets(target, request, options)
        : judgeAllBudgets(target, request, { ...options, demand });
    if (spent === null && demand !== undefined)
      return { kind: "admitted", target: i, counters: inRuleOrder(targetCounters, pathCounters) };
    if (spent === null)
      return pathBreach === null
        ? judgeByBudgets(i, inRuleOrder(targetCounters, pathCounters), request, options)
        : refusedBy(pathBreach);
    if (overBudget === null || spent.waitSeconds < overBudget.breach.waitSeconds)
      overBudget = { breach: spent, targetCounters };
  }
  // No target admits the request.
  if (overBudget !== null && isShorter(overBudget, targetBreach))
    return pathBreach !== null && pathBreach.waitSeconds >= overBudget.breach.waitSeconds
      ? refusedBy(pathBreach)
      : judgementOf(overBudget.breach, inRuleOrder(overBudget.targetCounters, pathCounters));
  const worstOfTargets = targetBreach!;
  const worst = pathBreach === null ? worstOfTargets : longerBreach(worstOfTargets, pathBreach);
  return refusedBy(worst);
}

/** A target's counters, with the one of its provider's own limits. */
export function withGauge(
  counters: readonly Counter[],
  upstream: UpstreamTarget | null,
): readonly Counter[] {
  return upstream === null ? counters : [upstream.counter, ...counters];
}

/** Why a target gets no request now: its provider's limits, or requests that wait for them. */
function upstreamBreach(upstream: UpstreamTarget, options: BreachOptions): CounterBreach | null {
  const breach = upstream.breach(options.nowMs);
  if (breach !== null || options.waiters == null) return breach;
  const { counter } = upstream;
  const waitSeconds = Math.ceil(options.waiters.behindMs(counter) / 1000);
  return waitSeconds === 0
    ? null
    : { counter, dimension: "upstream", cap: 0, waitSeconds, isBehind: true };
}

function isShorter({ breach }: OverBudget, other: CounterBreach | null): boolean {
  return other === null || breach.waitSeconds < other.waitSeconds;
}

/** A target that only a budget for some models refuses. */
interface OverBudget {
  readonly breach: BudgetBreach | Breach;
  readonly targetCounters: readonly Counter[];
}

function judgeByTargetBudgets(
  target: Target,
  { userPath, session }: JudgedRequest,
  { budgets = null, nowMs, uses, demand }: AdmissionOptions,
): BudgetBreach | Breach | null {
  return budgets === null
    ? null
    : judgeTargetBudgets(budgets.book, { target, userPath, session, uses, demand }, nowMs);
}

/** As `judgeByTargetBudgets`, with the budgets for all models. */
function judgeAllBudgets(
  target: Target,
  request: JudgedRequest,
  options: AdmissionOptions,
): BudgetBreach | Breach | null {
  const targetBudgetBreach = judgeByTargetBudgets(target, request, options);
  const pathBreach = breachOfBudgets(request, options);
  if (targetBudgetBreach === null || pathBreach === null) return targetBudgetBreach ?? pathBreach;
  return targetBudgetBreach.waitSeconds > pathBreach.waitSeconds ? targetBudgetBreach : pathBreach;
}

/** A submission is judged without gauges. */
function judgeSubmission(
  matching: Matching,
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  const windows = matching.matchPath(request.userPath, options.nowMs).filter(hasWindow);
  const breach = longestBreach(windows, options);
  return breach === null ? judgeByBudgets(0, windows, request, options) : refusedBy(breach);
}

/** Budgets are judged after the rules: if both refuse, the rule is reported. */
function judgeByBudgets(
  target: number,
  counters: readonly Counter[],
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  const breach = breachOfBudgets(request, options);
  return breach === null ? { kind: "admitted", target, counters } : judgementOf(breach, counters);
}

/** The breach of the budgets for all models. */
function breachOfBudgets(
  { userPath, session }: JudgedRequest,
  { budgets = null, nowMs, uses, demand }: AdmissionOptions,
): BudgetBreach | Breach | null {
  const labels = budgets?.labels ?? null;
  return budgets === null || labels === null
    ? null
    : judgeBudgets(budgets.book, { userPath, session, labels, uses, demand }, nowMs);
}

/** The judgement of a budget that refuses the request. */
function judgementOf(breach: BudgetBreach | Breach, counters: readonly Counter[]): Judgement {
  return breach.dimension === "budget"
    ? { kind: "exceeded", breach, counters }
    : { kind: "refused", breach };
}

export interface BreachOptions {
  readonly nowMs: number;
  /** Token limits need usage tracking; without it they are inert. */
  readonly tokensEnforced: boolean;
  /** See `isLenient`. */
  readonly uses?: readonly string[] | undefined;
  /** Whether lenient rules are judged like the others. */
  readonly isStrict?: boolean;
  /** The requests that wait; null or absent: none do, or the request needn't wait behind them. */
  readonly waiters?: WaitersAhead | null;
  /** What the request may use of hard caps, at the judged target; absent if it doesn't say. */
  readonly demand?: Demand | undefined;
  /** For rules without weights of their own; absent or null: each token counts as one. */
  readonly tokenWeights?: TokenWeights | null;
  /** Whether the request waits for room or can wait. */
  readonly waits?: boolean;
  /** Who sees the headers; absent or null: they are of all rules. */
  readonly viewer?: Viewer | undefined;
}

/** Requests that wait for a counter, and must be admitted before the one that is judged. */
export interface WaitersAhead {
  /** The expected wait behind them, in ms; 0: there are none. */
  behindMs(counter: Counter): number;
  /** The turn and the expected wait of one that comes now; null if none wait. */
  atEnd(counter: Counter): { readonly position: number; readonly expectedMs: number | null } | null;
}

/**
 * The estimated wait for room for a new child: the sweep examines each idle child within a minute.
 */
const childWaitSeconds = secondsToSweepAll;

/** A counter that refuses a request. */
interface CounterBreach {
  readonly counter: Counter;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly waitSeconds: number;
  /** True if the counter has room, but older requests wait for it. */
  readonly isBehind?: boolean;
  /** The child whose share is used up, if the cap has room that others may claim. */
  readonly share?: string;
  /** As in `Breach`. */
  readonly limitName?: string;
}

/**
 * The breach with the longest wait; on a tie the first counter in order, requests before tokens.
 * Rolls each window to now.
 */
export function longestBreach(
  counters: readonly Counter[],
  options: BreachOptions,
): CounterBreach | null {
  let longest: CounterBreach | null = null;
  for (let i = 0; i < counters.length; i++) {
    const counter = counters[i]!;
    if (isOff(counter.rule, options.nowMs)) continue;
    const { maxRequests, maxTokens } = capsOf(counter, options.nowMs);
    if (maxRequests === 0) {
      if (isLonger(bannedWaitSeconds, longest))
        longest = { counter, dimension: "banned", cap: 0, waitSeconds: bannedWaitSeconds };
      continue;
    }
    if (isNewChild(counter) && counter.rule.children.isFull) {
      if (isLonger(childWaitSeconds, longest))
        longest = {
          counter,
          dimension: "children",
          cap: counter.rule.children.size,
          waitSeconds: childWaitSeconds,
        };
      continue;
    }
    if (counter.rule.sharing !== null) {
      rollWindow(counter.window, counter.rule.periodMs, options.nowMs);
      const breach = shareBreach({ counter: counters[i - 1]!, childCounter: counter }, options);
      if (breach !== null && isLonger(breach.waitSeconds, longest)) longest = breach;
      continue;
    }
    const { definition } = counter.rule;
    if (
      definition.onExhausted !== undefined &&
      options.isStrict !== true &&
      isLenient(definition, options.uses)
    ) {
      // It counts the request all the same.
      rollWindow(counter.window, counter.rule.periodMs, options.nowMs);
      continue;
    }
    if (counter.rule.periodMs === 0) {
      if (isFull(counter, options)) {
        if (isLonger(1, longest))
          longest = { counter, dimension: "concurrent", cap: maxRequests!, waitSeconds: 1 };
      } else if (options.waiters != null && !isOnFloor(counter, counters[i + 1], options))
        longest = orBehind(longest, counter, options);
      continue;
    }
    rollWindow(counter.window, counter.rule.periodMs, options.nowMs);
    const requestsWait = waitOfRequests(counter, options);
    if (requestsWait > 0 && isLonger(requestsWait, longest))
      longest = { counter, dimension: "requests", cap: maxRequests!, waitSeconds: requestsWait };
    const tokensWait = waitOfTokens(counter, options);
    if (tokensWait > 0 && isLonger(tokensWait, longest))
      longest = {
        counter,
        dimension: counter.rule.measure ?? "tokens",
        cap: maxTokens!,
        waitSeconds: tokensWait,
      };
    if (
      options.waiters != null &&
      requestsWait === 0 &&
      tokensWait === 0 &&
      !isOnFloor(counter, counters[i + 1], options)
    )
      longest = orBehind(longest, counter, options);
  }
  return longest;
}

/**
 * Whether a child has a part of its floor left, so that its request needn't wait behind those of
 * others. `next`: the counter after the judged one: the child's, if the rule has shares.
 */
function isOnFloor(
  counter: Counter,
  next: Counter | undefined,
  { nowMs, tokensEnforced, waits = false }: BreachOptions,
): boolean {
  const { rule } = counter;
  if (rule.tenants === null || next === undefined) return false;
  const { maxRequests, maxTokens } = capsOf(counter, nowMs);
  const unit = rule.periodMs === 0 ? "slots" : "requests";
  const caps = [
    ...(maxRequests === null ? [] : [{ unit, cap: maxRequests, waits } as const]),
    ...(maxTokens === null || !tokensEnforced
      ? []
      : [{ unit: "tokens", cap: maxTokens, waits } as const]),
  ];
  return hasFloorLeft({ counter, childCounter: next }, caps, nowMs);
}

/** The breach of a counter with room for which other requests wait, if that wait is longer. */
function orBehind(
  longest: CounterBreach | null,
  counter: Counter,
  { waiters, nowMs }: BreachOptions,
): CounterBreach | null {
  const waitSeconds = Math.ceil((waiters?.behindMs(counter) ?? 0) / 1000);
  if (waitSeconds === 0 || !isLonger(waitSeconds, longest)) return longest;
  const { maxRequests, maxTokens } = capsOf(counter, nowMs);
  const { rule } = counter;
  const cap = maxRequests ?? maxTokens ?? 0;
  const dimension =
    rule.periodMs === 0
      ? "concurrent"
      : maxRequests === null
        ? (rule.measure ?? "tokens")
        : "requests";
  return { counter, dimension, cap, waitSeconds, isBehind: true };
}

/** The breach with the longest wait because others may claim what a shared cap has left. */
export function shareBreach(shared: SharedCounter, options: BreachOptions): CounterBreach | null {
  const { counter } = shared;
  const { rule } = counter;
  if (options.isStrict !== true && isLenient(rule.definition, options.uses)) return null;
  const { maxRequests, maxTokens } = capsOf(counter, options.nowMs);
  const share = sharerOf(shared);
  const isGauge = rule.periodMs === 0;
  const waits = options.waits === true;
  const requestsUnit = isGauge ? "slots" : "requests";
  const requestsWait =
    maxRequests === null
      ? 0
      : waitForShare(shared, { unit: requestsUnit, cap: maxRequests, waits }, options.nowMs);
  const tokensWait =
    maxTokens === null || !options.tokensEnforced
      ? 0
      : waitForShare(
          shared,
          { unit: "tokens", cap: maxTokens, waits, need: needOfHard(counter, maxTokens, options) },
          options.nowMs,
        );
  if (requestsWait === 0 && tokensWait === 0) return null;
  return tokensWait > requestsWait
    ? {
        counter,
        share,
        dimension: rule.measure ?? "tokens",
        cap: maxTokens!,
        waitSeconds: withinHours(rule, tokensWait, options.nowMs),
      }
    : {
        counter,
        share,
        dimension: isGauge ? "concurrent" : "requests",
        cap: maxRequests!,
        waitSeconds: withinHours(rule, requestsWait, options.nowMs),
      };
}

function isLonger(waitSeconds: number, longest: CounterBreach | null): boolean {
  return longest === null || waitSeconds > longest.waitSeconds;
}

/** Whether a gauge of requests in flight has reached its cap. */
export function isFull(counter: Counter, { nowMs }: Pick<BreachOptions, "nowMs">): boolean {
  const { inFlight } = counter;
  const cap = capsOf(counter, nowMs).maxRequests!;
  const share = shareOf(counter);
  return share === null ? inFlight >= cap : share.isFull(inFlight, cap);
}

/**
 * Seconds until a rolled window has room for a request; 0 if it has, or if requests aren't capped.
 */
export function waitOfRequests(counter: Counter, { nowMs }: BreachOptions): number {
  const { rule, window } = counter;
  const { maxRequests } = capsOf(counter, nowMs);
  if (maxRequests === null) return 0;
  const share = shareOf(counter);
  const seconds =
    share === null
      ? waitForRequests(window, rule.periodMs, nowMs, maxRequests)
      : share.waitOfRequests(window, maxRequests, nowMs);
  return withinHours(rule, seconds, nowMs);
}

/**
 * As `waitOfRequests`, for tokens, or for the measure of a part; also 0 if tokens aren't enforced.
 */
export function waitOfTokens(counter: Counter, options: BreachOptions): number {
  const { nowMs, tokensEnforced } = options;
  const { rule } = counter;
  const { maxTokens } = capsOf(counter, nowMs);
  if (maxTokens === null || !tokensEnforced) return 0;
  const seconds =
    rule.definition.hold === undefined
      ? waitOfSoft(counter, maxTokens, options)
      : waitOfHard(counter, maxTokens, options);
  return withinHours(rule, seconds, nowMs);
}

/**
 * Seconds until the use is below a cap that isn't hard. Of a cap with shares, what running requests
 * will probably use leaves no room for those that wait: otherwise one moment with room would admit
 * all of them, and the shares decide nothing.
 */
function waitOfSoft(counter: Counter, cap: number, { nowMs, waits }: BreachOptions): number {
  const seconds = waitBelow(counter, cap, nowMs);
  const sharing = waits === true ? counter.rule.tenants?.sharing : undefined;
  const reserved = sharing?.find(counter.child)?.reservedBy(null) ?? 0;
  if (seconds > 0 || reserved === 0) return seconds;
  return reserved >= cap || waitBelow(counter, cap - reserved, nowMs) > 0 ? 1 : 0;
}

/** Seconds until the use is below `cap`. */
function waitBelow(counter: Counter, cap: number, nowMs: number): number {
  const { rule, window } = counter;
  const share = shareOf(counter);
  return share === null
    ? waitForTokens(window, rule.periodMs, nowMs, cap)
    : share.waitOfTokens(window, cap, nowMs);
}

/**
 * Seconds until a hard cap has room for the demand, with what running requests hold; 1 if only
 * their holds leave no room.
 */
function waitOfHard(counter: Counter, cap: number, options: BreachOptions): number {
  const { nowMs, demand, tokenWeights = null } = options;
  const { rule, child } = counter;
  const heldTokens = rule.held?.of(child) ?? 0;
  const need = needOfHard(counter, cap, options) ?? 1;
  const room = cap - heldTokens - need + 1;
  if (room > 0 && waitBelow(counter, room, nowMs) === 0)
    return demand === undefined || !isHardCap(rule)
      ? 0
      : waitOfClaim(counter, demand, { nowMs, tokenWeights });
  const wait = waitBelow(counter, Math.max(1, cap - need + 1), nowMs);
  // A request that never fits isn't asked to try again soon.
  return Math.max(need > cap ? rule.periodMs / 1000 : 1, wait);
}

/** What the request needs of a hard cap; undefined of any other. */
function needOfHard(
  { rule, child }: Counter,
  cap: number,
  { demand, tokenWeights = null }: BreachOptions,
): number | undefined {
  if (demand === undefined || !isHardCap(rule)) return undefined;
  return needOf(weightsOfRule(rule, demand, tokenWeights), cap, demand, rule.held?.of(child) ?? 0);
}

/** Seconds until this host may use what the request needs; 0 if no other host counts. */
function waitOfClaim(
  counter: Counter,
  demand: Demand,
  { nowMs, tokenWeights }: { readonly nowMs: number; readonly tokenWeights: TokenWeights | null },
): number {
  const share = shareOf(counter);
  if (share === null) return 0;
  const [limit] = hardRules([counter], demand, { nowMs, tokenWeights, uses: undefined });
  return limit === undefined
    ? 0
    : share.waitOfClaim(counter.window, claimNeeds(limit, demand), nowMs);
}

/** A wait is over when the rule's hours are. */
function withinHours({ hours }: Rule, seconds: number, nowMs: number): number {
  if (hours === null || seconds === 0) return seconds;
  if (!hours.isActiveAt(nowMs)) return 0;
  return Math.min(seconds, Math.ceil((hours.endAfter(nowMs) - nowMs) / 1000));
}

/** The breach with the longer wait; on a tie the earlier rule's. */
export function longerBreach(a: CounterBreach, b: CounterBreach): CounterBreach {
  if (a.waitSeconds !== b.waitSeconds) return a.waitSeconds > b.waitSeconds ? a : b;
  return isBefore(a, b) ? a : b;
}

/** The breach of the target with the shorter wait; on a tie `a`, of the earlier target. */
export function shorterBreach(a: CounterBreach, b: CounterBreach): CounterBreach {
  return b.waitSeconds < a.waitSeconds ? b : a;
}

function isBefore(a: CounterBreach, b: CounterBreach): boolean {
  return compareRules(a.counter.rule.definition, b.counter.rule.definition) < 0;
}

function refusedBy(breach: CounterBreach): Refused {
  const { counter, isBehind = false } = breach;
  return { kind: "refused", breach: reportBreach(breach), counter, isBehind };
}

/** A breach as messages carry it. */
export function reportBreach(breach: CounterBreach): Breach {
  const { definition } = breach.counter.rule;
  const { scope, periodSeconds, models, when } = definition;
  const isExhausted = breach.dimension !== "children" && breach.dimension !== "banned";
  return {
    scope,
    subject: breach.counter.subject,
    periodSeconds,
    dimension: breach.dimension,
    cap: breach.cap,
    waitSeconds: breach.waitSeconds,
    ...(models === undefined ? {} : { models }),
    ...(when === undefined ? {} : { when }),
    ...(isExhausted ? useField(definition) : {}),
    ...(breach.share === undefined ? {} : { share: breach.share }),
    ...(breach.limitName === undefined ? {} : { limitName: breach.limitName }),
  };
}

/**
 * The breach that refuses a request with these counters; null if all admit it.
 */
export function breachOf(counters: readonly Counter[], options: BreachOptions): Breach | null {
  const longest = longestBreach(counters, options);
  return longest === null ? null : reportBreach(longest);
}

const noBreaches: readonly Breach[] = [];

/** Why lenient rules would refuse a request with these counters. */
export function exhaustedRules(
  counters: readonly Counter[],
  { nowMs, tokensEnforced, uses }: BreachOptions,
): readonly Breach[] {
  let breaches = noBreaches;
  for (const counter of counters) {
    const { definition } = counter.rule;
    if (definition.onExhausted === undefined || !isLenient(definition, uses)) continue;
    const breach = breachOf([counter], { nowMs, tokensEnforced, isStrict: true });
    if (breach !== null) breaches = [...breaches, breach];
  }
  return breaches;
}
