/**
 * The numbers of the success headers: what the rules have left after the request. Not here: the
 * names and texts, which the proxy adds.
 */
import type { Measure } from "../../shared/domain/rule.js";
import type { Left, SuccessHeaders } from "../../shared/domain/verdict.js";
import { type Counter, capsAt, countsOf, isOff } from "../counters/counter.js";
import { estimateRequests, slidingTokens } from "../counters/window.js";
import type { BreachOptions } from "./judge.js";

/**
 * The request triple from the rule with the least left after this request, the token triple
 * likewise; ties to the earlier rule. The windows are rolled to now.
 */
export function headersOfCounters(
  counters: readonly Counter[],
  { nowMs: ownNowMs, tokensEnforced }: BreachOptions,
): SuccessHeaders | null {
  let requests: SuccessHeaders["requests"] = null;
  let tokens: SuccessHeaders["tokens"] = null;
  let ofMeasures: Partial<Record<Measure, Left>> | undefined;
  for (const counter of counters) {
    const { rule } = counter;
    if (rule.periodMs === 0 || isOff(rule, ownNowMs)) continue;
    const { window, nowMs } = countsOf(counter, ownNowMs);
    const { maxRequests, maxTokens } = capsAt(rule, counter.child, nowMs);
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
      const held = rule.held === null ? 0 : rule.held.of(counter.child);
      const used = held + slidingTokens(window, rule.periodMs, nowMs);
      const remaining = Math.max(0, maxTokens - used);
      const { measure } = rule;
      const least = measure === null ? tokens : (ofMeasures?.[measure] ?? null);
      if (least === null || remaining < least.remaining) {
        const resetSeconds = secondsToEnd(window.startMs + rule.periodMs, nowMs);
        const left = { limit: maxTokens, remaining, resetSeconds };
        if (measure === null) tokens = left;
        else ofMeasures = { ...ofMeasures, [measure]: left };
      }
    }
  }
  if (ofMeasures !== undefined) return { requests, tokens, measures: ofMeasures };
  return requests === null && tokens === null ? null : { requests, tokens };
}

/** Whole seconds to the end of a window, at least 1. */
export function secondsToEnd(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
