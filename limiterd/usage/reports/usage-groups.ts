/**
 * The groups of a report: the largest ones, each with a name and a sum, and the sum of all others.
 * Pure.
 */
import type { UsageGroup } from "../../../shared/api/usage-report.js";
import { usageGroupsHeldMax, usageGroupsMax } from "../../../shared/bounds.js";
import { addSum, compareSums, differenceOf, sumUsd } from "../../../shared/domain/money.js";
import { addRollup, copyRollup, emptyRollup, isEmptyRollup, type Rollup } from "../rollup.js";
import type { UsageReader } from "../usage-reader.js";
import { unknownIn } from "./usage-totals.js";

export type Group = [key: string, sum: Rollup];

/** The group of the rest if there are too many groups. */
export const restGroup = "other";

export function addTo(groups: Map<string, Rollup>, name: string, sum: Rollup): void {
  const existing = groups.get(name);
  if (existing === undefined) groups.set(name, copyRollup(sum));
  else addRollup(existing, sum);
}

/**
 * A total minus its parts, only with the fields that a group shows. It is never negative, although
 * parts may be kept longer than the total.
 */
export function differenceOfSums(total: Rollup, parts: Rollup): Rollup {
  const rest = emptyRollup();
  rest.requests = Math.max(0, total.requests - parts.requests);
  rest.inputTokens = Math.max(0, total.inputTokens - parts.inputTokens);
  rest.outputTokens = Math.max(0, total.outputTokens - parts.outputTokens);
  rest.unpricedRequests = Math.max(0, total.unpricedRequests - parts.unpricedRequests);
  rest.unknownCalls = Math.max(0, total.unknownCalls - parts.unknownCalls);
  rest.tokensAtMost = Math.max(0, total.tokensAtMost - parts.tokensAtMost);
  addSum(rest.costAtMost, differenceOf(total.costAtMost, parts.costAtMost));
  addSum(rest.totalCost, differenceOf(total.totalCost, parts.totalCost));
  return rest;
}

function bySize([aKey, a]: Group, [bKey, b]: Group): number {
  return compareSums(b.totalCost, a.totalCost) || b.requests - a.requests || (aKey < bKey ? -1 : 1);
}

/**
 * If there are at least `max` groups, sorts them and adds all but the largest to `rest`. Returns
 * whether it did.
 */
export function keepLargest(groups: Group[], rest: Rollup, max: number): boolean {
  if (groups.length < max) return false;
  groups.sort(bySize);
  for (const [, sum] of groups.splice(usageGroupsMax)) addRollup(rest, sum);
  return true;
}

export function withRestLast(groups: Group[], rest: Rollup): Group[] {
  keepLargest(groups, rest, 0);
  return isEmptyRollup(rest) ? groups : [...groups, [restGroup, rest]];
}

export function groupItem([key, sum]: Group): UsageGroup {
  return {
    key,
    requests: sum.requests,
    input_tokens: sum.inputTokens,
    output_tokens: sum.outputTokens,
    total_tokens: sum.inputTokens + sum.outputTokens,
    total_cost: sumUsd(sum.totalCost),
    unpriced_requests: sum.unpricedRequests,
    ...unknownIn(sum),
  };
}

/** Sums by name, up to a bound, and the sum of the rest. */
export class NamedSums {
  readonly rest = emptyRollup();
  readonly #byName = new Map<string, Rollup>();

  add(name: string, sum: Rollup): void {
    const existing = this.#byName.get(name);
    if (existing !== undefined) addRollup(existing, sum);
    else if (this.#byName.size < usageGroupsHeldMax && name !== restGroup)
      this.#byName.set(name, copyRollup(sum));
    else addRollup(this.rest, sum);
  }

  async groups({ yieldToEventLoop }: Pick<UsageReader, "yieldToEventLoop">): Promise<Group[]> {
    const largest: Group[] = [];
    for (const group of this.#byName) {
      largest.push(group);
      if (keepLargest(largest, this.rest, 2 * usageGroupsMax)) await yieldToEventLoop();
    }
    return withRestLast(largest, this.rest);
  }
}
