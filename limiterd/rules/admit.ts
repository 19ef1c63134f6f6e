/**
 * The verdict on one request (CONTRACT sections 4 and 5): all matching rules are looked at, nothing
 * moves unless all admit, and what is reported is the breach with the longest wait. One synchronous
 * step; the clock is an argument. `judge` decides, `admit` counts: whoever only wants to know what
 * would happen (`explain.ts`) judges copies.
 */
import { assert } from "../../shared/assert.js";
import { compareRules } from "../../shared/domain/rule.js";
import type {
  Breach,
  BudgetBreach,
  Dimension,
  SuccessHeaders,
  Target,
} from "../../shared/wire/message.js";
import { type BudgetMatching, judgeBudgets } from "../budgets/judge-budgets.js";
import {
  addToWindow,
  estimateRequests,
  estimateTokens,
  rollWindow,
  waitForRequests,
  waitForTokens,
} from "../counters/window.js";
import { type Counter, inOrder, type RuleBook } from "./rule-book.js";

export interface AdmissionRequest {
  readonly userPath: string;
  /** At least one, in order of preference. */
  readonly targets: readonly Target[];
  /**
   * Counted as one request of the path, at no target, and without a slot (CONTRACT section 5:
   * batches).
   */
  readonly submission: boolean;
}

export interface Refusal {
  readonly admitted: false;
  readonly breach: Breach;
}

interface Exceeded {
  readonly admitted: false;
  readonly breach: BudgetBreach;
}

/**
 * What is decided before anything is counted: the index of the target, and the counters that a
 * request to it would move, even if a budget refuses it.
 */
export type Judgement =
  | { readonly admitted: true; readonly target: number; readonly counters: readonly Counter[] }
  | Refusal
  | (Exceeded & { readonly counters: readonly Counter[] });

export type Granted = {
  readonly admitted: true;
  readonly target: number;
  readonly counters: readonly Counter[];
  readonly headers: SuccessHeaders | null;
};

export type Verdict = Granted | Refusal | (Exceeded & { readonly headers: SuccessHeaders | null });

/**
 * Where `judge` finds the counters of a request: the rule book, or a copy of what it would find
 * there.
 */
export type Matching = Pick<RuleBook, "matchPath" | "matchTarget">;

/** The rules where limits are disabled: none. */
export const noRules: Matching & Pick<RuleBook, "markDirty" | "copyPath"> = {
  matchPath: () => [],
  copyPath: () => [],
  matchTarget: () => [],
  markDirty: () => {},
};

export interface AdmissionOptions {
  readonly nowMs: number;
  /** Token limits need usage tracking; without it they are inert (SPEC "Limits", 10). */
  readonly tokensEnforced: boolean;
  /**
   * The budgets, and the labels of the caller's key. Null, or left out, where they aren't asked:
   * they are off, or have been asked before.
   */
  readonly budgets?: { readonly book: BudgetMatching; readonly labels: readonly string[] } | null;
}

interface Found {
  readonly counter: Counter;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly waitSeconds: number;
}

/**
 * Admits a request to the first target that has room and counts it, or says which rule or budget
 * refuses and for how long.
 */
export function admit(
  book: Matching & Pick<RuleBook, "markDirty">,
  request: AdmissionRequest,
  options: AdmissionOptions,
): Verdict {
  const judgement = judge(book, request, options);
  if (!judgement.admitted)
    return "counters" in judgement
      ? {
          admitted: false,
          breach: judgement.breach,
          headers: successHeaders(judgement.counters, options),
        }
      : judgement;
  const { target, counters } = judgement;
  countRequest(book, counters, { slots: !request.submission, nowMs: options.nowMs });
  return { admitted: true, target, counters, headers: successHeaders(counters, options) };
}

/** The decision alone. It brings the windows that it looks at to now and changes no count. */
export function judge(
  matching: Matching,
  request: AdmissionRequest,
  options: AdmissionOptions,
): Judgement {
  if (request.submission) return judgeSubmission(matching, request, options);
  const ofPath = matching.matchPath(request.userPath, options.nowMs);
  const pathBreach = longestBreach(ofPath, options);
  let targetBreach: Found | null = null;
  for (let i = 0; i < request.targets.length; i++) {
    const ofTarget = matching.matchTarget(request.targets[i]!, options.nowMs);
    const breach = longestBreach(ofTarget, options);
    if (breach === null)
      return pathBreach === null
        ? withinBudgets(i, inOrder(ofTarget, ofPath), request, options)
        : { admitted: false, breach: report(pathBreach) };
    if (
      targetBreach === null ||
      breach.waitSeconds < targetBreach.waitSeconds ||
      (breach.waitSeconds === targetBreach.waitSeconds && before(breach, targetBreach))
    )
      targetBreach = breach;
  }
  const worst =
    targetBreach === null
      ? pathBreach
      : pathBreach === null
        ? targetBreach
        : longer(targetBreach, pathBreach);
  return { admitted: false, breach: report(worst!) };
}

function judgeSubmission(
  matching: Matching,
  request: AdmissionRequest,
  options: AdmissionOptions,
): Judgement {
  const windows = matching.matchPath(request.userPath, options.nowMs).filter(hasWindow);
  const breach = longestBreach(windows, options);
  return breach === null
    ? withinBudgets(0, windows, request, options)
    : { admitted: false, breach: report(breach) };
}

/**
 * Whether a counter counts requests or tokens over time: the others are gauges, which a submission
 * doesn't meet.
 */
export function hasWindow({ rule }: Counter): boolean {
  return rule.periodMs > 0;
}

/** The budgets have their say when the rules admit: where both refuse, the rule is reported. */
function withinBudgets(
  target: number,
  counters: readonly Counter[],
  { userPath }: AdmissionRequest,
  { budgets = null, nowMs }: AdmissionOptions,
): Judgement {
  const breach =
    budgets === null ? null : judgeBudgets(budgets.book, userPath, budgets.labels, nowMs);
  return breach === null
    ? { admitted: true, target, counters }
    : { admitted: false, breach, counters };
}

/**
 * Admits a request whose target has failed to the first of `targets` with room. Only that target's
 * rules count it, and only theirs are the counters told: the path's, which it has held since its
 * admission, are neither judged nor counted again. The headers are of both, as the rules are now.
 */
export function readmit(
  book: RuleBook,
  userPath: string,
  targets: readonly Target[],
  options: AdmissionOptions,
): Granted | Refusal {
  const judgement = judge(
    { matchPath: () => [], matchTarget: book.matchTarget },
    { userPath: "/", targets, submission: false },
    { nowMs: options.nowMs, tokensEnforced: options.tokensEnforced },
  );
  if (!judgement.admitted) {
    assert(!("counters" in judgement), "no budget is asked again");
    return judgement;
  }
  countRequest(book, judgement.counters, { slots: true, nowMs: options.nowMs });
  const ofPath = book.matchPath(userPath, options.nowMs);
  for (const { rule, window } of ofPath) rollWindow(window, rule.periodMs, options.nowMs);
  const { target, counters } = judgement;
  return {
    admitted: true,
    target,
    counters,
    headers: successHeaders(inOrder(counters, ofPath), options),
  };
}

/**
 * The breach that a request to these counters alone would be told, or null when all of them admit
 * it.
 */
export function breachOf(counters: readonly Counter[], options: AdmissionOptions): Breach | null {
  const found = longestBreach(counters, options);
  return found === null ? null : report(found);
}

/**
 * The breach with the longest wait among counters in order; the first of them on a tie, requests
 * before tokens.
 */
function longestBreach(counters: readonly Counter[], options: AdmissionOptions): Found | null {
  let longest: Found | null = null;
  for (const counter of counters) {
    const { maxRequests, maxTokens } = counter.rule.definition;
    if (counter.rule.periodMs === 0) {
      if (isFull(counter)) longest = keepLonger(longest, counter, "concurrent", maxRequests!, 1);
      continue;
    }
    rollWindow(counter.window, counter.rule.periodMs, options.nowMs);
    const requestsWait = waitOfRequests(counter, options);
    if (requestsWait > 0)
      longest = keepLonger(longest, counter, "requests", maxRequests!, requestsWait);
    const tokensWait = waitOfTokens(counter, options);
    if (tokensWait > 0) longest = keepLonger(longest, counter, "tokens", maxTokens!, tokensWait);
  }
  return longest;
}

/** Whether a gauge of requests in flight has reached its cap. */
export function isFull({ rule, inFlight }: Counter): boolean {
  return inFlight >= rule.definition.maxRequests!;
}

/**
 * Seconds until a rolled window has room for a request; 0 when it has, or when requests aren't
 * capped.
 */
export function waitOfRequests({ rule, window }: Counter, { nowMs }: AdmissionOptions): number {
  const { maxRequests } = rule.definition;
  return maxRequests !== null && estimateRequests(window, rule.periodMs, nowMs) >= maxRequests
    ? waitForRequests(window, rule.periodMs, nowMs, maxRequests)
    : 0;
}

/** As `waitOfRequests`, for tokens; 0 too while they aren't enforced. */
export function waitOfTokens(
  { rule, window }: Counter,
  { nowMs, tokensEnforced }: AdmissionOptions,
): number {
  const { maxTokens } = rule.definition;
  return maxTokens !== null &&
    tokensEnforced &&
    estimateTokens(window, rule.periodMs, nowMs) >= maxTokens
    ? waitForTokens(window, rule.periodMs, nowMs, maxTokens)
    : 0;
}

function keepLonger(
  longest: Found | null,
  counter: Counter,
  dimension: Dimension,
  cap: number,
  waitSeconds: number,
): Found {
  return longest !== null && longest.waitSeconds >= waitSeconds
    ? longest
    : { counter, dimension, cap, waitSeconds };
}

function longer(a: Found, b: Found): Found {
  if (a.waitSeconds !== b.waitSeconds) return a.waitSeconds > b.waitSeconds ? a : b;
  return before(a, b) ? a : b;
}

function before(a: Found, b: Found): boolean {
  return compareRules(a.counter.rule.definition, b.counter.rule.definition) < 0;
}

function report(found: Found): Breach {
  const { scope, periodSeconds } = found.counter.rule.definition;
  return {
    scope,
    subject: found.counter.subject,
    periodSeconds,
    dimension: found.dimension,
    cap: found.cap,
    waitSeconds: found.waitSeconds,
  };
}

/**
 * Every window and every gauge moves together. Gauges count on all rules; only `concurrent` ones
 * are judged by them.
 */
function countRequest(
  book: Pick<RuleBook, "markDirty">,
  counters: readonly Counter[],
  { slots, nowMs }: { readonly slots: boolean; readonly nowMs: number },
): void {
  for (const counter of counters) {
    if (slots) counter.inFlight++;
    if (counter.rule.periodMs === 0) continue;
    addToWindow(
      counter.window,
      counter.rule.periodMs,
      Math.max(nowMs, counter.window.startMs),
      1,
      0,
    );
    book.markDirty(counter);
  }
}

/**
 * The request triple from the rule with the least left after this request, the token triple
 * likewise; ties to the earlier rule.
 */
function successHeaders(
  counters: readonly Counter[],
  { nowMs, tokensEnforced }: AdmissionOptions,
): SuccessHeaders | null {
  let requests: SuccessHeaders["requests"] = null;
  let tokens: SuccessHeaders["tokens"] = null;
  for (const { rule, window } of counters) {
    if (rule.periodMs === 0) continue;
    const { maxRequests, maxTokens } = rule.definition;
    if (maxRequests !== null) {
      const remaining = Math.max(0, maxRequests - estimateRequests(window, rule.periodMs, nowMs));
      if (requests === null || remaining < requests.remaining)
        requests = {
          limit: maxRequests,
          remaining,
          resetSeconds: secondsToEnd(window.startMs + rule.periodMs, nowMs),
        };
    }
    if (maxTokens !== null && tokensEnforced) {
      const remaining = Math.max(0, maxTokens - estimateTokens(window, rule.periodMs, nowMs));
      if (tokens === null || remaining < tokens.remaining)
        tokens = {
          limit: maxTokens,
          remaining,
          resetSeconds: secondsToEnd(window.startMs + rule.periodMs, nowMs),
        };
    }
  }
  return requests === null && tokens === null ? null : { requests, tokens };
}

/** Whole seconds to the end of a window, at least 1. */
export function secondsToEnd(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
