/**
 * The cost of a response: its usage at its target's price, or the cost that the provider reports.
 * Also the cost of the tokens that rewriters removed. All amounts are integers in the units of
 * `shared/domain/money.ts`.
 */
import { isPicoUsd, type PicoUsd } from "../../shared/domain/money.js";
import { kindRate, type Price, ratesFor, type TokenRates } from "../../shared/domain/price.js";
import { noDetailCounts } from "../../shared/usage/usage-details.js";
import type { Usage } from "./read-usage.js";

/**
 * `totalCost` is the sum of `inputCost`, `outputCost` and the fees per request and per tool call.
 */
export interface Costs {
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly totalCost: PicoUsd;
  readonly source: "reported" | "price";
}

/**
 * The cost of one response, or null if it is unpriced, which is recorded as such and is not 0. It
 * is unpriced if the target has no price, if a kind of token that it used has none, or if the cost
 * exceeds the most that a response can cost.
 *
 * A cost that the provider reported takes precedence. The provider doesn't split it into input and
 * output, so Sluice splits it in proportion to the costs at the target's price, or to the tokens if
 * there is no price. The two parts always add up to the reported cost.
 */
export function priceUsage(usage: Usage, price: Price | null): Costs | null {
  const priced = price === null ? null : fromPrice(usage, price);
  if (usage.reportedCost === null) return priced;
  const totalCost = usage.reportedCost;
  const tokenCost = priced === null ? 0 : priced.inputCost + priced.outputCost;
  const inputRatio =
    priced !== null && tokenCost > 0
      ? priced.inputCost / tokenCost
      : usage.totalTokens > 0
        ? usage.inputTokens / usage.totalTokens
        : 1;
  const inputCost = Math.round(totalCost * inputRatio);
  return { inputCost, outputCost: totalCost - inputCost, totalCost, source: "reported" };
}

function fromPrice(usage: Usage, price: Price): Costs | null {
  const rates = ratesFor(price, usage.inputTokens, usage.details?.serviceTier);
  const inputCost = costOfInput(usage, rates);
  const outputCost = costOfOutput(usage, rates);
  if (inputCost === null || outputCost === null) return null;
  const totalCost = inputCost + outputCost + feesOf(usage, price);
  // Each product is exact up to 2^53. A larger product exceeds the bound however it was rounded.
  return isPicoUsd(totalCost) ? { inputCost, outputCost, totalCost, source: "price" } : null;
}

/**
 * What removed input tokens would have cost in the same request; null if there were none, or if
 * they have no price.
 */
export function priceSavedTokens(
  tokens: number,
  { inputTokens, details }: Usage,
  price: Price | null,
): PicoUsd | null {
  if (tokens === 0 || price === null) return null;
  const cost = costOf(tokens, ratesFor(price, inputTokens, details?.serviceTier).input);
  return isPicoUsd(cost) ? cost : null;
}

function feesOf({ details }: Usage, price: Price): number {
  if (details === null) return price.perRequest;
  const { webSearches, fileSearches } = details.counts;
  return (
    price.perRequest +
    webSearches * (price.perWebSearch ?? 0) +
    fileSearches * (price.perFileSearch ?? 0)
  );
}

function costOfInput(usage: Usage, rates: TokenRates): number | null {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, details } = usage;
  const plainTokens = inputTokens - cachedInputTokens - cacheWriteInputTokens;
  const cachedRate = rates.cachedInput ?? rates.input;
  const writeRate = rates.cacheWrite ?? rates.input;
  if (details === null || details.counts === noDetailCounts)
    return sumOf(
      costOf(plainTokens, rates.input),
      costOf(cachedInputTokens, cachedRate),
      costOf(cacheWriteInputTokens, writeRate),
    );
  const { cachedAudioInputTokens, cachedImageInputTokens, cacheWrite1hTokens } = details.counts;
  const audio = details.counts.audioInputTokens - cachedAudioInputTokens;
  const image = details.counts.imageInputTokens - cachedImageInputTokens;
  return sumOf(
    costOfParts(plainTokens, rates.input, [
      [audio, kindRate(rates, "audioInput")],
      [image, kindRate(rates, "imageInput")],
    ]),
    costOfParts(cachedInputTokens, cachedRate, [
      [cachedAudioInputTokens, kindRate(rates, "cachedAudioInput")],
      [cachedImageInputTokens, kindRate(rates, "cachedImageInput")],
    ]),
    costOfParts(cacheWriteInputTokens, writeRate, [
      [cacheWrite1hTokens, kindRate(rates, "cacheWrite1h")],
    ]),
  );
}

function costOfOutput({ outputTokens, details }: Usage, rates: TokenRates): number | null {
  if (details === null || details.counts === noDetailCounts)
    return costOf(outputTokens, rates.output);
  const { audioOutputTokens, imageOutputTokens, reasoningTokens } = details.counts;
  return costOfParts(outputTokens, rates.output, [
    [audioOutputTokens, kindRate(rates, "audioOutput")],
    [imageOutputTokens, kindRate(rates, "imageOutput")],
    [reasoningTokens, kindRate(rates, "reasoning")],
  ]);
}

/**
 * The cost of tokens of which some parts have their own rates. Parts that exceed the whole are cut
 * to it, in order, so that each token is charged once.
 */
function costOfParts(
  tokens: number,
  rate: number | null,
  parts: readonly (readonly [tokens: number, rate: number | null])[],
): number | null {
  let rest = tokens;
  let sum: number | null = 0;
  for (const [given, partRate] of parts) {
    const part = Math.min(Math.max(given, 0), rest);
    rest -= part;
    sum = sumOf(sum, costOf(part, partRate));
  }
  return sumOf(sum, costOf(rest, rate));
}

function sumOf(...costs: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const cost of costs) {
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}

function costOf(tokens: number, rate: number | null): number | null {
  if (tokens === 0) return 0;
  return rate === null ? null : tokens * rate;
}
