/**
 * What a response costs: its usage at its target's price, or the cost that the provider reports.
 * And what the tokens would have cost that rewriters took out. All in integers, in the units of
 * `shared/domain/money.ts`.
 */
import { isPicoUsd, type PicoUsd } from "../../shared/domain/money.js";
import { type Price, ratesFor, type TokenRates } from "../../shared/domain/price.js";
import type { Usage } from "./read-usage.js";

/** `totalCost` is `inputCost`, `outputCost` and the fee per request. */
export interface Costs {
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly totalCost: PicoUsd;
  readonly source: "reported" | "price";
}

/**
 * The cost of one response, or null: unpriced, which is recorded as such and is not 0. It is
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
  const rates = ratesFor(price, usage.inputTokens);
  const inputCost = costOfInput(usage, rates);
  const outputCost = costOf(usage.outputTokens, rates.output);
  if (inputCost === null || outputCost === null) return null;
  const totalCost = inputCost + outputCost + price.perRequest;
  // Each product is exact up to 2^53; a larger one is above the bound too, however it was rounded.
  return isPicoUsd(totalCost) ? { inputCost, outputCost, totalCost, source: "price" } : null;
}

/**
 * What input tokens that weren't sent would have cost in the same request, or null: there were
 * none, or they have no price.
 */
export function priceSavedTokens(
  tokens: number,
  { inputTokens }: Usage,
  price: Price | null,
): PicoUsd | null {
  if (tokens === 0 || price === null) return null;
  const cost = costOf(tokens, ratesFor(price, inputTokens).input);
  return isPicoUsd(cost) ? cost : null;
}

function costOfInput(
  { inputTokens, cachedInputTokens, cacheWriteInputTokens }: Usage,
  rates: TokenRates,
): PicoUsd | null {
  const plain = costOf(inputTokens - cachedInputTokens - cacheWriteInputTokens, rates.input);
  const cached = costOf(cachedInputTokens, rates.cachedInput ?? rates.input);
  const written = costOf(cacheWriteInputTokens, rates.cacheWrite ?? rates.input);
  return plain === null || cached === null || written === null ? null : plain + cached + written;
}

function costOf(tokens: number, rate: number | null): number | null {
  if (tokens === 0) return 0;
  return rate === null ? null : tokens * rate;
}
