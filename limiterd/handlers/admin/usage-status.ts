/**
 * The body of GET /v1/usage (docs/http-api.md, "Usage"): what a user path used in a window of days,
 * and where its budgets and rate limits are now. Reading changes nothing.
 */
import type {
  RateLimitStatus,
  UsageStatus,
  UsageTotals,
} from "../../../shared/api/usage-report.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { periodLabel } from "../../../shared/domain/rule.js";
import { formatMillis } from "../../../shared/time.js";
import {
  type DetailField,
  detailFields,
  detailNames,
} from "../../../shared/usage/usage-details.js";
import type { Counter } from "../../counters/counter.js";
import { budgetStatuses } from "../../lists/list-budgets.js";
import { liveCounts } from "../../lists/list-rules.js";
import { countsOf, secondsToEnd } from "../../rules/success-headers.js";
import type { DaemonState } from "../../state.js";
import { addRollup, emptyRollup, type Rollup } from "../../usage/rollup.js";
import { totalPrefix } from "../../usage/rollup-keys.js";
import type { UsageWindow } from "../../usage/usage-query.js";
import { type Days, readRollups } from "../../usage/usage-reader.js";

/**
 * A plain object, ready for the wire. `keyId`: whose labels' budgets are listed too; empty for a
 * caller without a managed key. Rejects with
 * `StoreUnreadableError`.
 */
export async function usageStatus(
  state: DaemonState,
  window: UsageWindow,
  keyId: string,
  nowMs: number,
): Promise<UsageStatus> {
  const { userPath } = window;
  const { book, settings, shares } = state;
  if (shares !== null && settings.rateLimitsEnabled)
    await shares.reader.refresh(book.copyPath(userPath, nowMs));
  // Counters as of now, whatever happens while the sums are read.
  const budgets = budgetStatuses(state, userPath, state.labelsOf(keyId), nowMs);
  const rateLimits = rateLimitStatuses(state, userPath, nowMs);
  return {
    usage: state.settings.usageEnabled ? usageSummary(await sumOf(state, window), window) : null,
    budgets,
    rate_limits: rateLimits,
    server_time: formatMillis(nowMs),
    user_path: userPath,
  };
}

/** All that the records at or below a path add up to. Rejects with `StoreUnreadableError`. */
export async function sumOf(state: DaemonState, window: UsageWindow): Promise<Rollup> {
  const total = emptyRollup();
  await readRollups(
    state,
    { prefix: totalPrefix(window.userPath), days: window, view: state.usage.rollups },
    (_, sum) => addRollup(total, sum),
  );
  return total;
}

/** A sum by the names of docs/http-api.md, with the number of requests whose cost isn't in it. */
export function usageSummary(sum: Rollup, { fromDay, toDay }: Days): UsageTotals {
  return {
    start_date: fromDay,
    end_date: toDay,
    total_requests: sum.requests,
    total_input_tokens: sum.inputTokens,
    total_output_tokens: sum.outputTokens,
    total_tokens: sum.inputTokens + sum.outputTokens,
    cached_input_tokens: sum.cachedInputTokens,
    cache_write_input_tokens: sum.cacheWriteInputTokens,
    uncached_input_tokens: sum.inputTokens - sum.cachedInputTokens - sum.cacheWriteInputTokens,
    total_input_cost: sumUsd(sum.inputCost),
    total_output_cost: sumUsd(sum.outputCost),
    total_cost: sumUsd(sum.totalCost),
    unpriced_requests: sum.unpricedRequests,
    rewrite_tokens_saved: sum.rewriteTokensSaved,
    ...detailFieldsOf(sum),
    ...(sum.rewritesPriced > 0 ? { rewrite_cost_saved: sumUsd(sum.rewriteCostSaved) } : {}),
  };
}

/** What answers told beside their tokens, where they told anything. */
function detailFieldsOf({ details }: Rollup): Partial<Record<DetailField, number>> {
  const fields: Partial<Record<DetailField, number>> = {};
  if (details !== null)
    for (const name of detailNames)
      if (details[name] > 0) fields[detailFields[name]] = details[name];
  return fields;
}

/**
 * The user-path rules that cover a path, in the order (subject, period): a template as the path's
 * own child of it.
 */
function rateLimitStatuses(
  { book, settings }: DaemonState,
  userPath: string,
  nowMs: number,
): RateLimitStatus[] {
  if (!settings.rateLimitsEnabled) return [];
  return book.copyPath(userPath, nowMs).map((counter) => {
    const inert = settings.inertReason(counter.rule.definition);
    return {
      ...rateLimitStatus(counter, { nowMs, tokensEnforced: settings.usageEnabled }),
      ...(inert === null ? {} : { inert }),
    };
  });
}

function rateLimitStatus(
  counter: Counter,
  { nowMs, tokensEnforced }: { readonly nowMs: number; readonly tokensEnforced: boolean },
): RateLimitStatus {
  const { rule } = counter;
  const { maxRequests, maxTokens, perChild, periodSeconds } = rule.definition;
  const live = liveCounts(counter, nowMs);
  const counted = countsOf(counter, nowMs);
  return {
    subject: counter.subject,
    user_path: counter.subject,
    per_child: perChild,
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    ...live,
    ...(rule.periodMs > 0
      ? { resets_in_seconds: secondsToEnd(counted.window.startMs + rule.periodMs, counted.nowMs) }
      : {}),
    ...(maxRequests === null
      ? {}
      : {
          max_requests: maxRequests,
          requests_usage_ratio: live.requests_used / maxRequests,
        }),
    ...(maxTokens === null
      ? {}
      : { max_tokens: maxTokens, tokens_usage_ratio: live.tokens_used / maxTokens }),
    exhausted: live.requests_remaining === 0 || (tokensEnforced && live.tokens_remaining === 0),
  };
}
