/**
 * One sum of usage records: what they counted and cost, exactly. Whose sum it is, and of which day,
 * stands in its key (`rollup-keys.ts`).
 */
import { isCount } from "../shared/assert.js";
import { addCost, addSum, emptySum, type MoneySum } from "../shared/money.js";
import type { UsageRecord } from "./usage-records.js";

/** Cache hits aren't in it. Counts are safe integers, which stop at the largest. */
export interface Rollup {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  /** Records without a price, whose costs aren't in the sums. */
  unpricedRequests: number;
  rewriteTokensSaved: number;
  /** Records with a priced saving: without any, the sum of savings isn't 0 but unknown. */
  rewritesPriced: number;
  /** Sums by model that this one is split into, so that they can end somewhere; kept with the total of a path and day alone. */
  models: number;
  readonly inputCost: MoneySum;
  readonly outputCost: MoneySum;
  readonly totalCost: MoneySum;
  readonly rewriteCostSaved: MoneySum;
}

export function emptyRollup(): Rollup {
  return {
    requests: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteInputTokens: 0, unpricedRequests: 0, rewriteTokensSaved: 0, rewritesPriced: 0, models: 0,
    inputCost: emptySum(), outputCost: emptySum(), totalCost: emptySum(), rewriteCostSaved: emptySum(),
  };
}

/** Adds a record, in place. */
export function addRecord(sum: Rollup, record: UsageRecord): void {
  sum.requests = bounded(sum.requests + 1);
  sum.inputTokens = bounded(sum.inputTokens + record.inputTokens);
  sum.outputTokens = bounded(sum.outputTokens + record.outputTokens);
  sum.cachedInputTokens = bounded(sum.cachedInputTokens + record.cachedInputTokens);
  sum.cacheWriteInputTokens = bounded(sum.cacheWriteInputTokens + record.cacheWriteInputTokens);
  sum.rewriteTokensSaved = bounded(sum.rewriteTokensSaved + record.rewriteTokensSaved);
  const { inputCost, outputCost, totalCost, rewriteCostSaved } = record;
  if (inputCost === null || outputCost === null || totalCost === null) sum.unpricedRequests++;
  else {
    addCost(sum.inputCost, inputCost);
    addCost(sum.outputCost, outputCost);
    addCost(sum.totalCost, totalCost);
  }
  if (rewriteCostSaved === null) return;
  sum.rewritesPriced++;
  addCost(sum.rewriteCostSaved, rewriteCostSaved);
}

/** Adds another sum, in place; how it is split is left aside. */
export function addRollup(sum: Rollup, other: Rollup): void {
  sum.requests = bounded(sum.requests + other.requests);
  sum.inputTokens = bounded(sum.inputTokens + other.inputTokens);
  sum.outputTokens = bounded(sum.outputTokens + other.outputTokens);
  sum.cachedInputTokens = bounded(sum.cachedInputTokens + other.cachedInputTokens);
  sum.cacheWriteInputTokens = bounded(sum.cacheWriteInputTokens + other.cacheWriteInputTokens);
  sum.unpricedRequests = bounded(sum.unpricedRequests + other.unpricedRequests);
  sum.rewriteTokensSaved = bounded(sum.rewriteTokensSaved + other.rewriteTokensSaved);
  sum.rewritesPriced = bounded(sum.rewritesPriced + other.rewritesPriced);
  addSum(sum.inputCost, other.inputCost);
  addSum(sum.outputCost, other.outputCost);
  addSum(sum.totalCost, other.totalCost);
  addSum(sum.rewriteCostSaved, other.rewriteCostSaved);
}

function bounded(count: number): number {
  return count > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : count;
}

/** `rollups`: the nine counts, and each cost as micro-dollars and pico-dollars. */
export function rollupToStored(sum: Rollup): readonly unknown[] {
  return [
    sum.requests, sum.inputTokens, sum.outputTokens, sum.cachedInputTokens, sum.cacheWriteInputTokens, sum.unpricedRequests, sum.rewriteTokensSaved, sum.rewritesPriced, sum.models,
    sum.inputCost.microUsd, sum.inputCost.picoUsd, sum.outputCost.microUsd, sum.outputCost.picoUsd,
    sum.totalCost.microUsd, sum.totalCost.picoUsd, sum.rewriteCostSaved.microUsd, sum.rewriteCostSaved.picoUsd,
  ];
}

/** Null for what `rollupToStored` never wrote. */
export function rollupFromStored(value: readonly unknown[]): Rollup | null {
  if (value.length !== 17 || !value.every((item) => isCount(item))) return null;
  const counts = value as readonly number[];
  const money = (at: number): MoneySum => ({ microUsd: counts[at]!, picoUsd: counts[at + 1]! });
  const [requests, inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens, unpricedRequests, rewriteTokensSaved, rewritesPriced, models] = counts as readonly [number, number, number, number, number, number, number, number, number];
  return {
    requests, inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens, unpricedRequests, rewriteTokensSaved, rewritesPriced, models,
    inputCost: money(9), outputCost: money(11), totalCost: money(13), rewriteCostSaved: money(15),
  };
}
