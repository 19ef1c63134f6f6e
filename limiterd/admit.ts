/**
 * The verdict on one request (CONTRACT sections 4 and 5): all matching rules are looked at, nothing
 * moves unless all admit, and what is reported is the breach with the longest wait. One synchronous
 * step; the clock is an argument.
 */
import { compareRules } from "../shared/rule.js";
import type { Breach, Dimension, SuccessHeaders, Target } from "../shared/wire/message.js";
import { type Counter, inOrder, type RuleBook } from "./rule-book.js";
import { addToWindow, estimateRequests, estimateTokens, rollWindow, waitForRequests, waitForTokens } from "./window.js";

export interface AdmissionRequest {
  readonly userPath: string;
  /** At least one, in order of preference. */
  readonly targets: readonly Target[];
}

export type Verdict =
  | { readonly admitted: true; readonly target: number; readonly counters: readonly Counter[]; readonly headers: SuccessHeaders | null }
  | { readonly admitted: false; readonly breach: Breach };

export interface AdmissionOptions {
  readonly nowMs: number;
  /** Token limits need usage tracking; without it they are inert (SPEC "Limits", 10). */
  readonly tokensEnforced: boolean;
}

interface Found {
  readonly counter: Counter;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly waitSeconds: number;
}

/** Admits a request to the first target that has room and counts it, or says which rule refuses and for how long. */
export function admit(book: RuleBook, request: AdmissionRequest, options: AdmissionOptions): Verdict {
  const ofPath = book.matchPath(request.userPath, options.nowMs);
  const pathBreach = longestBreach(ofPath, options);
  let targetBreach: Found | null = null;
  for (let i = 0; i < request.targets.length; i++) {
    const ofTarget = book.matchTarget(request.targets[i]!, options.nowMs);
    const breach = longestBreach(ofTarget, options);
    if (breach === null) {
      if (pathBreach !== null) return { admitted: false, breach: report(pathBreach) };
      const counters = inOrder(ofTarget, ofPath);
      countRequest(book, counters, options.nowMs);
      return { admitted: true, target: i, counters, headers: successHeaders(counters, options) };
    }
    if (targetBreach === null || breach.waitSeconds < targetBreach.waitSeconds || (breach.waitSeconds === targetBreach.waitSeconds && before(breach, targetBreach))) targetBreach = breach;
  }
  const worst = targetBreach === null ? pathBreach : pathBreach === null ? targetBreach : longer(targetBreach, pathBreach);
  return { admitted: false, breach: report(worst!) };
}

/** The breach with the longest wait among counters in order; the first of them on a tie, requests before tokens. */
function longestBreach(counters: readonly Counter[], options: AdmissionOptions): Found | null {
  let longest: Found | null = null;
  for (const counter of counters) {
    const { definition, periodMs } = counter.rule;
    const { maxRequests, maxTokens } = definition;
    if (periodMs === 0) {
      if (counter.inFlight >= maxRequests!) longest = keepLonger(longest, counter, "concurrent", maxRequests!, 1);
      continue;
    }
    const { window } = counter;
    rollWindow(window, periodMs, options.nowMs);
    if (maxRequests !== null && estimateRequests(window, periodMs, options.nowMs) >= maxRequests) {
      longest = keepLonger(longest, counter, "requests", maxRequests, waitForRequests(window, periodMs, options.nowMs, maxRequests));
    }
    if (maxTokens !== null && options.tokensEnforced && estimateTokens(window, periodMs, options.nowMs) >= maxTokens) {
      longest = keepLonger(longest, counter, "tokens", maxTokens, waitForTokens(window, periodMs, options.nowMs, maxTokens));
    }
  }
  return longest;
}

function keepLonger(longest: Found | null, counter: Counter, dimension: Dimension, cap: number, waitSeconds: number): Found {
  return longest !== null && longest.waitSeconds >= waitSeconds ? longest : { counter, dimension, cap, waitSeconds };
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
  return { scope, subject: found.counter.subject, periodSeconds, dimension: found.dimension, cap: found.cap, waitSeconds: found.waitSeconds };
}

/** Every window and every gauge moves together. Gauges count on all rules; only `concurrent` ones are judged by them. */
function countRequest(book: RuleBook, counters: readonly Counter[], nowMs: number): void {
  for (const counter of counters) {
    counter.inFlight++;
    if (counter.rule.periodMs === 0) continue;
    addToWindow(counter.window, counter.rule.periodMs, Math.max(nowMs, counter.window.startMs), 1, 0);
    book.markDirty(counter);
  }
}

/** The request triple from the rule with the least left after this request, the token triple likewise; ties to the earlier rule. */
function successHeaders(counters: readonly Counter[], { nowMs, tokensEnforced }: AdmissionOptions): SuccessHeaders | null {
  let requests: SuccessHeaders["requests"] = null;
  let tokens: SuccessHeaders["tokens"] = null;
  for (const { rule, window } of counters) {
    if (rule.periodMs === 0) continue;
    const { maxRequests, maxTokens } = rule.definition;
    if (maxRequests !== null) {
      const remaining = Math.max(0, maxRequests - estimateRequests(window, rule.periodMs, nowMs));
      if (requests === null || remaining < requests.remaining) requests = { limit: maxRequests, remaining, resetSeconds: secondsToEnd(window.startMs + rule.periodMs, nowMs) };
    }
    if (maxTokens !== null && tokensEnforced) {
      const remaining = Math.max(0, maxTokens - estimateTokens(window, rule.periodMs, nowMs));
      if (tokens === null || remaining < tokens.remaining) tokens = { limit: maxTokens, remaining, resetSeconds: secondsToEnd(window.startMs + rule.periodMs, nowMs) };
    }
  }
  return requests === null && tokens === null ? null : { requests, tokens };
}

/** Whole seconds to the end of a window, at least 1. */
export function secondsToEnd(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
