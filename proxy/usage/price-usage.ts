/**
 * What a response costs: its usage at its target's price, or the cost that the provider reports.
 * And what the tokens would have cost that rewriters took out. All in integers, in the units of
 * `shared/domain/money.ts`.
 */
import { isPicoUsd, type PicoUsd } from "../../shared/domain/money.js";
import { kindRate, type Price, ratesFor, type TokenRates } from "../../shared/domain/price.js";
import { noDetailCounts } from "../../shared/usage/usage-details.js";
import type { Usage } from "./read-usage.js";

/** `totalCost` is `inputCost`, `outputCost` and the fees per request and per call of a tool. */
export interface Costs {
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly totalCost: PicoUsd;
  readonly source: "reported" | "price";
}

/**
 * The cost of one response, or null if unpriced, which is recorded as such and is not 0. It is
 * unpriced when there is no price, when a kind of token that it used has none, and when the cost
 * would be more than a response can cost.
 *
 * A cost that the provider reported wins. It isn't split into input and output, so it is split as
 * the price would have split it, or by tokens where there is no price; the two parts always add up
 * to it.
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
  // Each product is exact up to 2^53; a larger one is above the bound too, however it was rounded.
  return isPicoUsd(totalCost) ? { inputCost, outputCost, totalCost, source: "price" } : null;
}

/**
 * What input tokens that weren't sent would have cost in the same request, or null if there were
 * none, or they have no price.
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
 * Tokens of which some parts have rates of their own. Parts that are more than the whole are cut to
 * it, in their order: a token is paid once.
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
