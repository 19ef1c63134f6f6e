/**
 * One sum of usage records: their exact counts and costs. Its key names its subject and its day
 * (`rollup-keys.ts`).
 */
import { isCount } from "../../shared/checked.js";
import {
  addSum,
  emptySum,
  type MoneySum,
  type PicoUsd,
  sumOfCost,
} from "../../shared/domain/money.js";
import {
  countsIn,
  type DetailName,
  detailNames,
  noDetailCounts,
} from "../../shared/usage/usage-details.js";
import { interimStatus } from "../../shared/wire/execution.js";
import type { UsageRecord } from "./usage-records.js";

/** A sum without cache hits. Counts are safe integers and stop at the largest one. */
export interface Rollup {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  /** Records without a price, whose costs aren't in the sums. */
  unpricedRequests: number;
  rewriteTokensSaved: number;
  /** Records with a priced saving; if there are none, the sum of savings is unknown, not 0. */
  rewritesPriced: number;
  /**
   * The number of sums by model that this one is split into, for their bound; only for the total of
   * a path and day.
   */
  models: number;
  /** Null: no record has any. */
  details: Record<DetailName, number> | null;
  readonly inputCost: MoneySum;
  readonly outputCost: MoneySum;
  readonly totalCost: MoneySum;
  readonly rewriteCostSaved: MoneySum;
  /** Records with unknown usage, and their upper bounds. */
  unknownCalls: number;
  tokensAtMost: number;
  readonly costAtMost: MoneySum;
}

/** A read-only sum, which may share its parts with others. */
export type ReadRollup = { readonly [Part in keyof Rollup]: Readonly<Rollup[Part]> };

export function emptyRollup(): Rollup {
  return {
    requests: 0,
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    unpricedRequests: 0,
    rewriteTokensSaved: 0,
    rewritesPriced: 0,
    models: 0,
    details: null,
    inputCost: emptySum(),
    outputCost: emptySum(),
    totalCost: emptySum(),
    rewriteCostSaved: emptySum(),
    unknownCalls: 0,
    tokensAtMost: 0,
    costAtMost: emptySum(),
  };
}

/**
 * Whether the sum is empty. Usage without a request, as of a request in progress or of a lost
 * attempt, isn't empty.
 */
export function isEmptyRollup(sum: Rollup): boolean {
  const { requests, inputTokens, outputTokens, totalCost, unknownCalls } = sum;
  if (requests > 0 || inputTokens + outputTokens > 0 || unknownCalls > 0) return false;
  return totalCost.microUsd === 0 && totalCost.picoUsd === 0;
}

/** The sum of one record. */
export function rollupOf(record: UsageRecord): ReadRollup {
  const { inputCost, outputCost, totalCost, rewriteCostSaved, atMost } = record;
  const isUnpriced = inputCost === null || outputCost === null || totalCost === null;
  const requests = record.status === interimStatus ? 0 : 1;
  return {
    requests,
    inputTokens: record.inputTokens,
    outputTokens: record.outputTokens,
    cachedInputTokens: record.cachedInputTokens,
    cacheWriteInputTokens: record.cacheWriteInputTokens,
    unpricedRequests: isUnpriced ? requests : 0 - (record.corrects?.priced ?? 0),
    rewriteTokensSaved: record.rewriteTokensSaved,
    rewritesPriced: rewriteCostSaved === null ? 0 : 1,
    models: 0,
    details: record.details === null ? null : countsIn(record.details),
    inputCost: sumOf(isUnpriced ? 0 : inputCost),
    outputCost: sumOf(isUnpriced ? 0 : outputCost),
    totalCost: sumOf(isUnpriced ? 0 : totalCost),
    rewriteCostSaved: sumOf(rewriteCostSaved ?? 0),
    unknownCalls: atMost === null ? 0 : atMost.tokens < 0 ? -1 : 1,
    tokensAtMost: atMost === null ? 0 : atMost.tokens,
    costAtMost: sumOf(atMost?.cost ?? 0),
  };
}

const zero: Readonly<MoneySum> = emptySum();

function sumOf(cost: PicoUsd): Readonly<MoneySum> {
  if (cost === 0) return zero;
  return sumOfCost(cost);
}

/**
 * Adds another sum in place, without its number of models. Returns whether the cost has reached its
 * bound.
 */
export function addRollup(sum: Rollup, other: ReadRollup): boolean {
  sum.requests = clampCount(sum.requests + other.requests);
  sum.inputTokens = clampCount(sum.inputTokens + other.inputTokens);
  sum.outputTokens = clampCount(sum.outputTokens + other.outputTokens);
  sum.cachedInputTokens = clampCount(sum.cachedInputTokens + other.cachedInputTokens);
  sum.cacheWriteInputTokens = clampCount(sum.cacheWriteInputTokens + other.cacheWriteInputTokens);
  sum.unpricedRequests = clampCount(sum.unpricedRequests + other.unpricedRequests);
  sum.rewriteTokensSaved = clampCount(sum.rewriteTokensSaved + other.rewriteTokensSaved);
  sum.rewritesPriced = clampCount(sum.rewritesPriced + other.rewritesPriced);
  if (other.details !== null) {
    sum.details ??= { ...noDetailCounts };
    for (const name of detailNames)
      sum.details[name] = clampCount(sum.details[name] + other.details[name]);
  }
  addSum(sum.inputCost, other.inputCost);
  addSum(sum.outputCost, other.outputCost);
  addSum(sum.rewriteCostSaved, other.rewriteCostSaved);
  sum.unknownCalls = clampCount(sum.unknownCalls + other.unknownCalls);
  sum.tokensAtMost = clampCount(sum.tokensAtMost + other.tokensAtMost);
  addSum(sum.costAtMost, other.costAtMost);
  return addSum(sum.totalCost, other.totalCost);
}

/** Copies a sum, without its number of models. */
export function copyRollup(sum: Rollup): Rollup {
  const copy = emptyRollup();
  addRollup(copy, sum);
  return copy;
}

function clampCount(count: number): number {
  return Math.min(Math.max(count, 0), Number.MAX_SAFE_INTEGER);
}

/**
 * `rollups`: the nine counts, each cost as micro-dollars and pico-dollars, and the record key up to
 * which the sum includes every record; then the details and the unknown usage, if there are any.
 */
export function rollupToStored(sum: Rollup, recordKey: number): readonly unknown[] {
  return [
    sum.requests,
    sum.inputTokens,
    sum.outputTokens,
    sum.cachedInputTokens,
    sum.cacheWriteInputTokens,
    sum.unpricedRequests,
    sum.rewriteTokensSaved,
    sum.rewritesPriced,
    sum.models,
    sum.inputCost.microUsd,
    sum.inputCost.picoUsd,
    sum.outputCost.microUsd,
    sum.outputCost.picoUsd,
    sum.totalCost.microUsd,
    sum.totalCost.picoUsd,
    sum.rewriteCostSaved.microUsd,
    sum.rewriteCostSaved.picoUsd,
    recordKey,
    ...(sum.details === null && sum.unknownCalls === 0
      ? []
      : detailNames.map((name) => sum.details?.[name] ?? 0)),
    ...(sum.unknownCalls === 0
      ? []
      : [sum.unknownCalls, sum.tokensAtMost, sum.costAtMost.microUsd, sum.costAtMost.picoUsd]),
  ];
}

/** The number of fields before the details. */
const fixedFields = 18;
/** The index of the first field of unknown usage. */
const unknownFrom = fixedFields + detailNames.length;

/** Null for what `rollupToStored` never wrote. */
export function rollupFromStored(value: readonly unknown[]): Rollup | null {
  if (value.length < fixedFields || !value.every((item) => isCount(item))) return null;
  const counts = value as readonly number[];
  const details = counts.slice(fixedFields, unknownFrom);
  if (counts.length > unknownFrom + 4) return null;
  const [unknownCalls = 0, tokensAtMost = 0, microUsd = 0, picoUsd = 0] = counts.slice(unknownFrom);
  const money = (i: number): MoneySum => ({ microUsd: counts[i]!, picoUsd: counts[i + 1]! });
  const [
    requests,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    unpricedRequests,
    rewriteTokensSaved,
    rewritesPriced,
    models,
  ] = counts as readonly [number, number, number, number, number, number, number, number, number];
  return {
    requests,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    unpricedRequests,
    rewriteTokensSaved,
    rewritesPriced,
    models,
    details: details.every((count) => count === 0)
      ? null
      : (Object.fromEntries(detailNames.map((name, i) => [name, details[i] ?? 0])) as Record<
          DetailName,
          number
        >),
    inputCost: money(9),
    outputCost: money(11),
    totalCost: money(13),
    rewriteCostSaved: money(15),
    unknownCalls,
    tokensAtMost,
    costAtMost: { microUsd, picoUsd },
  };
}

/** The record key in a value that `rollupFromStored` accepts. */
export function recordKeyIn(value: readonly unknown[]): number {
  return value[17] as number;
}
