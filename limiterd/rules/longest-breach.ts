/**
 * Which of some counters refuse a request, and for how long. The counters are in the order of the
 * rules (scope, subject, period), and the breach with the longest wait is the one that is reported.
 * What follows from it is decided in `judge.ts`.
 */
import { secondsToSweepAll } from "../../shared/bounds.js";
import { compareRules } from "../../shared/domain/rule.js";
import type { Breach, Dimension } from "../../shared/domain/verdict.js";
import { type Counter, isNewChild, shareOf } from "../counters/counter.js";
import { rollWindow, waitForRequests, waitForTokens } from "../counters/window.js";

export interface BreachOptions {
  readonly nowMs: number;
  /** Token limits need usage tracking; without it they are inert. */
  readonly tokensEnforced: boolean;
}

/** As a guess, like the second of a gauge: the sweep comes past each idle child within a minute. */
const childWaitSeconds = secondsToSweepAll;

/** A counter that refuses a request. */
export interface FoundBreach {
  readonly counter: Counter;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly waitSeconds: number;
}

/**
 * The breach with the longest wait among counters in order; the first of them on a tie, requests
 * before tokens. It rolls each window to now.
 */
export function longestBreach(
  counters: readonly Counter[],
  options: BreachOptions,
): FoundBreach | null {
  let longest: FoundBreach | null = null;
  for (const counter of counters) {
    const { maxRequests, maxTokens } = counter.rule.definition;
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
    if (counter.rule.periodMs === 0) {
      if (isFull(counter) && isLonger(1, longest))
        longest = { counter, dimension: "concurrent", cap: maxRequests!, waitSeconds: 1 };
      continue;
    }
    rollWindow(counter.window, counter.rule.periodMs, options.nowMs);
    const requestsWait = waitOfRequests(counter, options);
    if (requestsWait > 0 && isLonger(requestsWait, longest))
      longest = { counter, dimension: "requests", cap: maxRequests!, waitSeconds: requestsWait };
    const tokensWait = waitOfTokens(counter, options);
    if (tokensWait > 0 && isLonger(tokensWait, longest))
      longest = { counter, dimension: "tokens", cap: maxTokens!, waitSeconds: tokensWait };
  }
  return longest;
}

function isLonger(waitSeconds: number, longest: FoundBreach | null): boolean {
  return longest === null || waitSeconds > longest.waitSeconds;
}

/** Whether a gauge of requests in flight has reached its cap. */
export function isFull(counter: Counter): boolean {
  const { rule, inFlight } = counter;
  const cap = rule.definition.maxRequests!;
  const share = shareOf(counter);
  return share === null ? inFlight >= cap : share.isFull(inFlight, cap);
}

/**
 * Seconds until a rolled window has room for a request; 0 when it has, or when requests aren't
 * capped.
 */
export function waitOfRequests(counter: Counter, { nowMs }: BreachOptions): number {
  const { rule, window } = counter;
  const { maxRequests } = rule.definition;
  if (maxRequests === null) return 0;
  const share = shareOf(counter);
  if (share !== null) return share.waitOfRequests(window, maxRequests, nowMs);
  return waitForRequests(window, rule.periodMs, nowMs, maxRequests);
}

/** As `waitOfRequests`, for tokens; 0 too while they aren't enforced. */
export function waitOfTokens(counter: Counter, { nowMs, tokensEnforced }: BreachOptions): number {
  const { rule, window } = counter;
  const { maxTokens } = rule.definition;
  if (maxTokens === null || !tokensEnforced) return 0;
  const share = shareOf(counter);
  if (share !== null) return share.waitOfTokens(window, maxTokens, nowMs);
  return waitForTokens(window, rule.periodMs, nowMs, maxTokens);
}

/** The one with the longer wait; on a tie the earlier rule's. */
export function longerBreach(a: FoundBreach, b: FoundBreach): FoundBreach {
  if (a.waitSeconds !== b.waitSeconds) return a.waitSeconds > b.waitSeconds ? a : b;
  return isBefore(a, b) ? a : b;
}

/** That of the target with the shorter wait; on a tie the earlier target's, which is `a`. */
export function shorterBreach(a: FoundBreach, b: FoundBreach): FoundBreach {
  return b.waitSeconds < a.waitSeconds ? b : a;
}

function isBefore(a: FoundBreach, b: FoundBreach): boolean {
  return compareRules(a.counter.rule.definition, b.counter.rule.definition) < 0;
}

/** A breach as messages carry it. */
export function reportBreach(found: FoundBreach): Breach {
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
 * The breach with which a request to these counters alone would be refused, or null when all of
 * them admit it.
 */
export function breachOf(counters: readonly Counter[], options: BreachOptions): Breach | null {
  const found = longestBreach(counters, options);
  return found === null ? null : reportBreach(found);
}
