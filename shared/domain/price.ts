/**
 * What a model costs: integer rates per token, tiers and a fee per request. How usage and a price
 * make a cost is the proxy's (`proxy/usage/price-usage.ts`); where prices come from is in
 * `proxy/routing/price-table.ts`.
 */
import { isCount } from "../checked.js";

/**
 * Pico-dollars per token: dollars per million tokens, times a million. Null: that kind of token has
 * no price, which is not a price of 0.
 */
export interface TokenRates {
  readonly input: number | null;
  readonly output: number | null;
  /** Input tokens that were read from a cache; without a rate of its own, the input's. */
  readonly cachedInput: number | null;
  /** Input tokens that were written to a cache; without a rate of its own, the input's. */
  readonly cacheWrite: number | null;
}

interface PriceTier {
  /** A response with more input tokens than this has all of its tokens at this tier's rates. */
  readonly aboveInputTokens: number;
  readonly rates: TokenRates;
}

export interface Price {
  readonly rates: TokenRates;
  /** By `aboveInputTokens`, ascending. */
  readonly tiers: readonly PriceTier[];
  /** Pico-dollars for each request, whatever it used. */
  readonly perRequest: number;
}

/**
 * A million dollars per million tokens: far beyond any price, and near enough to keep products
 * exact.
 */
export const usdPerMillionMax = 1_000_000;

/**
 * The rate that a price per million tokens is; undefined when it is no price or has more than six
 * decimals: rounding one away could make it 0.
 */
export function rateFromUsdPerMillion(usd: number): number | undefined {
  const rate = Math.round(usd * 1e6);
  return isCount(rate) && usd <= usdPerMillionMax && rate / 1e6 === usd ? rate : undefined;
}

/** The rates for a response with this many input tokens. */
export function ratesFor({ rates, tiers }: Price, inputTokens: number): TokenRates {
  let found = rates;
  for (const tier of tiers) if (inputTokens > tier.aboveInputTokens) found = tier.rates;
  return found;
}

/**
 * One figure to compare models by, in US dollars per million tokens: three parts input and one part
 * output, the mix that price comparisons of models commonly use, at the base rates without cache
 * and fee. Null without a price for input.
 */
export function blendedUsdPerMillion({ rates }: Price): number | null {
  return rates.input === null ? null : (3 * rates.input + (rates.output ?? 0)) / 4 / 1e6;
}
