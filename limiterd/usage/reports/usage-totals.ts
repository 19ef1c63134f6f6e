/** The totals of a path in the API's form, of this host and of the hosts that share their usage. */
import type { ReportHosts, UnknownUsage, UsageTotals } from "../../../shared/api/usage-report.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { formatMillis } from "../../../shared/time.js";
import {
  type DetailField,
  detailFields,
  detailNames,
} from "../../../shared/usage/usage-details.js";
import type { DaemonState } from "../../state.js";
import { addRollup, emptyRollup, type Rollup } from "../rollup.js";
import { totalPrefix } from "../rollup-keys.js";
import type { UsageWindow } from "../usage-query.js";
import { readRollups } from "../usage-reader.js";

/** The totals of all hosts that share their usage. */
export async function usageOf(
  state: DaemonState,
  window: UsageWindow,
): Promise<{ readonly usage: UsageTotals; readonly hosts?: ReportHosts }> {
  const { otherHosts } = state.usage;
  if (otherHosts === null) return { usage: usageTotals(await sumOf(state, window), window) };
  const { answer, hosts } = await otherHosts.withOtherHosts(async (open) => {
    const total = await sumOf(state, window);
    await open?.read({ kind: "totals", ...window }, (_, sum) => addRollup(total, sum));
    return total;
  });
  return { usage: usageTotals(answer, window), hosts: forCallers(hosts) };
}

/** Omits the list of hosts, which callers don't get. */
export function forCallers({ parts: _, ...hosts }: ReportHosts): ReportHosts {
  return hosts;
}

/** The sum of this host's records at or below a path. Rejects with `StoreUnreadableError`. */
async function sumOf(state: DaemonState, window: UsageWindow): Promise<Rollup> {
  const total = emptyRollup();
  await readRollups(
    state,
    { prefix: totalPrefix(window.userPath), days: window, view: state.usage.rollups },
    (_, sum) => addRollup(total, sum),
  );
  return total;
}

/**
 * A sum with the field names of docs/reference/http-api.md, and the number of requests whose cost
 * isn't in it.
 */
export function usageTotals(
  sum: Rollup,
  { fromDay, toDay, span }: Omit<UsageWindow, "userPath">,
): UsageTotals {
  return {
    start_date: fromDay,
    end_date: toDay,
    ...(span === undefined
      ? {}
      : { start: formatMillis(span.fromMs), end: formatMillis(span.beforeMs) }),
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
    ...unknownIn(sum),
    rewrite_tokens_saved: sum.rewriteTokensSaved,
    ...detailFieldsOf(sum),
    ...(sum.rewritesPriced > 0 ? { rewrite_cost_saved: sumUsd(sum.rewriteCostSaved) } : {}),
  };
}

/** The fields of unknown usage, if there is any. */
export function unknownIn(sum: Rollup): UnknownUsage {
  return sum.unknownCalls === 0
    ? {}
    : {
        unknown_calls: sum.unknownCalls,
        unknown_tokens_at_most: sum.tokensAtMost,
        unknown_cost_at_most: sumUsd(sum.costAtMost),
      };
}

/** The details that providers reported in addition to tokens, where they are above 0. */
function detailFieldsOf({ details }: Rollup): Partial<Record<DetailField, number>> {
  const fields: Partial<Record<DetailField, number>> = {};
  if (details !== null)
    for (const name of detailNames)
      if (details[name] > 0) fields[detailFields[name]] = details[name];
  return fields;
}
