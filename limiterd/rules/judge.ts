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
import {
  type BudgetMatching,
  type BudgetWaiters,
  judgeBudgets,
  judgeTargetBudgets,
} from "../budgets/judge-budgets.js";
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
  type Demands,
  demandAt,
  hardRules,
  isHardCap,
  needOf,
  neverFitsSeconds,
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
  readonly demands?: Demands | undefined;
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
export interface RefusedVerdict {
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
  | RefusedVerdict
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
  if (request.targets.length === 0) return judgePath(pathCounters, request, options);
  const { demands } = request;
  // If hard caps count the request, the path is judged again with each target: what the request
  // may use of a cap depends on the target's price.
  const isPathJudgedPerTarget = demands !== undefined;
  const pathBreach = isPathJudgedPerTarget ? null : longestBreach(pathCounters, options);
  let targetBreach: CounterBreach | null = null;
  let overBudget: OverBudget | null = null;
  for (let i = 0; i < request.targets.length; i++) {
    const target = request.targets[i]!;
    const targetOptions = isPathJudgedPerTarget
      ? { ...options, demand: demandAt(demands, i) }
      : options;
    const matched = matching.matchTarget(target, request.userPath, options.nowMs);
    const upstream = options.upstream?.targetOf(target, options.nowMs) ?? null;
    const breach =
      longestBreach(
        isPathJudgedPerTarget ? inRuleOrder(matched, pathCounters) : matched,
        targetOptions,
      ) ?? upstreamBreach(upstream, options);
    if (breach !== null) {
      targetBreach = targetBreach === null ? breach : shorterBreach(targetBreach, breach);
      continue;
    }
    const counters = inRuleOrder(withUpstreamCounter(matched, upstream), pathCounters);
    const budgetBreach = isPathJudgedPerTarget
      ? longestBudgetBreach(target, request, targetOptions)
      : targetBudgetBreach(target, request, options);
    if (budgetBreach === null) {
      if (isPathJudgedPerTarget) return { kind: "admitted", target: i, counters };
      if (pathBreach !== null) return refusedByRule(pathBreach);
      return judgePathBudgets(i, counters, request, options);
    }
    if (overBudget === null || budgetBreach.waitSeconds < overBudget.breach.waitSeconds)
      overBudget = { breach: budgetBreach, counters };
  }
  // No target admits the request: the one with the shortest wait decides, unless its path refuses
  // it for longer.
  const isBudgetShortest =
    overBudget !== null &&
    (targetBreach === null || overBudget.breach.waitSeconds < targetBreach.waitSeconds);
  if (!isBudgetShortest)
    return refusedByRule(
      pathBreach === null ? targetBreach! : longerBreach(targetBreach!, pathBreach),
    );
  const { breach, counters } = overBudget!;
  return pathBreach !== null && pathBreach.waitSeconds >= breach.waitSeconds
    ? refusedByRule(pathBreach)
    : refusedByBudget(breach, counters);
}

/** Judges a request without targets. */
function judgePath(
  pathCounters: readonly Counter[],
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  const breach = longestBreach(pathCounters, options);
  return breach === null
    ? judgePathBudgets(0, pathCounters, request, options)
    : refusedByRule(breach);
}

/** A target's counters, with the one of its provider's own limits. */
export function withUpstreamCounter(
  counters: readonly Counter[],
  upstream: UpstreamTarget | null,
): readonly Counter[] {
  return upstream === null ? counters : [upstream.counter, ...counters];
}

/**
 * The breach of a target's provider: its own limits, or the requests that wait for them; null if it
 * admits the request, or reports no limits.
 */
function upstreamBreach(
  upstream: UpstreamTarget | null,
  options: BreachOptions,
): CounterBreach | null {
  if (upstream === null) return null;
  const breach = upstream.breach(options.nowMs);
  if (breach !== null || options.waiters == null) return breach;
  const { counter } = upstream;
  const waitSeconds = Math.ceil(options.waiters.behindMs(counter) / 1000);
  return waitSeconds === 0
    ? null
    : { counter, dimension: "upstream", cap: 0, waitSeconds, isBehind: true };
}

/** A target that only a budget for some models refuses. */
interface OverBudget {
  readonly breach: BudgetBreach | Breach;
  /** The counters that a request to it would increment. */
  readonly counters: readonly Counter[];
}

function targetBudgetBreach(
  target: Target,
  { userPath, session }: JudgedRequest,
  { budgets = null, nowMs, uses, demand, waiters }: AdmissionOptions,
): BudgetBreach | Breach | null {
  return budgets === null
    ? null
    : judgeTargetBudgets(budgets.book, { target, userPath, session, uses, demand, waiters }, nowMs);
}

/** As `targetBudgetBreach`, with the budgets for all models. */
function longestBudgetBreach(
  target: Target,
  request: JudgedRequest,
  options: AdmissionOptions,
): BudgetBreach | Breach | null {
  const targetBreach = targetBudgetBreach(target, request, options);
  const pathBreach = pathBudgetBreach(request, options);
  if (targetBreach === null || pathBreach === null) return targetBreach ?? pathBreach;
  return targetBreach.waitSeconds > pathBreach.waitSeconds ? targetBreach : pathBreach;
}

/** A submission is judged without gauges. */
function judgeSubmission(
  matching: Matching,
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  const windows = matching.matchPath(request.userPath, options.nowMs).filter(hasWindow);
  const breach = longestBreach(windows, options);
  return breach === null ? judgePathBudgets(0, windows, request, options) : refusedByRule(breach);
}

/** Budgets are judged after the rules: if both refuse, the rule is reported. */
function judgePathBudgets(
  target: number,
  counters: readonly Counter[],
  request: JudgedRequest,
  options: AdmissionOptions,
): Judgement {
  const breach = pathBudgetBreach(request, options);
  return breach === null
    ? { kind: "admitted", target, counters }
    : refusedByBudget(breach, counters);
}

/** The breach of the budgets for all models. */
function pathBudgetBreach(
  { userPath, session }: JudgedRequest,
  { budgets = null, nowMs, uses, demand, waiters }: AdmissionOptions,
): BudgetBreach | Breach | null {
  const labels = budgets?.labels ?? null;
  return budgets === null || labels === null
    ? null
    : judgeBudgets(budgets.book, { userPath, session, labels, uses, demand, waiters }, nowMs);
}

/** The judgement of a budget that refuses the request. */
function refusedByBudget(breach: BudgetBreach | Breach, counters: readonly Counter[]): Judgement {
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

/** Requests that wait for a limit, and must be admitted before the one that is judged. */
export interface WaitersAhead extends BudgetWaiters {
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
    const breach = breachAt(counters, i, options);
    if (breach !== null && (longest === null || breach.waitSeconds > longest.waitSeconds))
      longest = breach;
  }
  return longest;
}

/**
 * The longest breach of the counter at an index. If children share its rule's cap, the counter of
 * the request's child follows it.
 */
function breachAt(
  counters: readonly Counter[],
  index: number,
  options: BreachOptions,
): CounterBreach | null {
  const counter = counters[index]!;
  const { rule } = counter;
  if (isOff(rule, options.nowMs)) return null;
  const { maxRequests } = capsOf(counter, options.nowMs);
  if (maxRequests === 0)
    return { counter, dimension: "banned", cap: 0, waitSeconds: bannedWaitSeconds };
  if (isNewChild(counter) && rule.children.isFull) {
    const cap = rule.children.size;
    return { counter, dimension: "children", cap, waitSeconds: childWaitSeconds };
  }
  if (rule.sharing !== null) {
    rollWindow(counter.window, rule.periodMs, options.nowMs);
    return shareBreach({ counter: counters[index - 1]!, childCounter: counter }, options);
  }
  const { definition } = rule;
  if (
    definition.onExhausted !== undefined &&
    options.isStrict !== true &&
    isLenient(definition, options.uses)
  ) {
    // A lenient rule refuses nothing, but counts the request in a window that must be rolled.
    rollWindow(counter.window, rule.periodMs, options.nowMs);
    return null;
  }
  const next = counters[index + 1];
  if (rule.periodMs === 0)
    return isFull(counter, options)
      ? { counter, dimension: "concurrent", cap: maxRequests!, waitSeconds: 1 }
      : waitersBreach(counter, next, options);
  rollWindow(counter.window, rule.periodMs, options.nowMs);
  return windowBreach(counter, options) ?? waitersBreach(counter, next, options);
}

/** The longer breach of a window's caps on requests and on tokens. */
function windowBreach(counter: Counter, options: BreachOptions): CounterBreach | null {
  const requestsWait = waitOfRequests(counter, options);
  const tokensWait = waitOfTokens(counter, options);
  if (requestsWait === 0 && tokensWait === 0) return null;
  const { maxRequests, maxTokens } = capsOf(counter, options.nowMs);
  return tokensWait > requestsWait
    ? {
        counter,
        dimension: counter.rule.measure ?? "tokens",
        cap: maxTokens!,
        waitSeconds: tokensWait,
      }
    : { counter, dimension: "requests", cap: maxRequests!, waitSeconds: requestsWait };
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
  const request = waits ? "waiting" : "new";
  const caps = [
    ...(maxRequests === null ? [] : [{ unit, cap: maxRequests, request } as const]),
    ...(maxTokens === null || !tokensEnforced
      ? []
      : [{ unit: "tokens", cap: maxTokens, request } as const]),
  ];
  return hasFloorLeft({ counter, childCounter: next }, caps, nowMs);
}

/** The breach of a counter that has room for which older requests wait; null if none do. */
function waitersBreach(
  counter: Counter,
  next: Counter | undefined,
  options: BreachOptions,
): CounterBreach | null {
  const { waiters = null, nowMs } = options;
  if (waiters === null || isOnFloor(counter, next, options)) return null;
  const waitSeconds = Math.ceil(waiters.behindMs(counter) / 1000);
  if (waitSeconds === 0) return null;
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
  const request = options.waits === true ? "waiting" : "new";
  const requestsUnit = isGauge ? "slots" : "requests";
  const requestsWait =
    maxRequests === null
      ? 0
      : waitForShare(shared, { unit: requestsUnit, cap: maxRequests, request }, options.nowMs);
  const tokensWait =
    maxTokens === null || !options.tokensEnforced
      ? 0
      : waitForShare(
          shared,
          {
            unit: "tokens",
            cap: maxTokens,
            request,
            need: needOfHardCap(counter, maxTokens, options),
          },
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
      ? waitOfSoftCap(counter, maxTokens, options)
      : waitOfHardCap(counter, maxTokens, options);
  return withinHours(rule, seconds, nowMs);
}

/**
 * Seconds until the use is below a cap that isn't hard. Of a cap with shares, what running requests
 * will probably use leaves no room for those that wait: otherwise one moment with room would admit
 * all of them, and the shares decide nothing.
 */
function waitOfSoftCap(counter: Counter, cap: number, { nowMs, waits }: BreachOptions): number {
  const seconds = waitForUseBelow(counter, cap, nowMs);
  const sharing = waits === true ? counter.rule.tenants?.sharing : undefined;
  const reserved = sharing?.find(counter.child)?.reservedByAll() ?? 0;
  if (seconds > 0 || reserved === 0) return seconds;
  return reserved >= cap || waitForUseBelow(counter, cap - reserved, nowMs) > 0 ? 1 : 0;
}

/** Seconds until the use is below `cap`. */
function waitForUseBelow(counter: Counter, cap: number, nowMs: number): number {
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
function waitOfHardCap(counter: Counter, cap: number, options: BreachOptions): number {
  const { nowMs, demand, tokenWeights = null } = options;
  const { rule, child } = counter;
  const heldTokens = rule.held?.of(child) ?? 0;
  const need = needOfHardCap(counter, cap, options, heldTokens) ?? 1;
  const room = cap - heldTokens - need + 1;
  if (room > 0 && waitForUseBelow(counter, room, nowMs) === 0)
    return demand === undefined || !isHardCap(rule)
      ? 0
      : waitOfClaim(counter, demand, { nowMs, tokenWeights });
  const needAlone = needOfHardCap(counter, cap, options, 0) ?? 1;
  const wait = waitForUseBelow(counter, Math.max(1, cap - needAlone + 1), nowMs);
  // A request that never fits isn't asked to try again soon.
  return needAlone > cap
    ? Math.max(neverFitsSeconds, rule.periodMs / 1000, wait)
    : Math.max(1, wait);
}

/** What the request needs of a hard cap, beside what others hold; undefined of any other. */
function needOfHardCap(
  { rule, child }: Counter,
  cap: number,
  { demand, tokenWeights = null }: BreachOptions,
  held = rule.held?.of(child) ?? 0,
): number | undefined {
  if (demand === undefined || !isHardCap(rule)) return undefined;
  return needOf({ weights: weightsOfRule(rule, demand, tokenWeights), cap }, demand, held);
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

function refusedByRule(breach: CounterBreach): RefusedVerdict {
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
