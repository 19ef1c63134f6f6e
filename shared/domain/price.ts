/**
 * What a model costs: integer rates per token, tiers and a fee per request. How usage and a price
 * make a cost is the proxy's (`proxy/usage/price-usage.ts`); where prices come from is in
 * `proxy/routing/price-table.ts`.
 */
import { isCount } from "../checked.js";
import type { ServiceTier } from "../usage/usage-details.js";

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
  /** Of kinds of tokens that a few models price apart; without one `kindRate` says which. */
  readonly kinds?: Readonly<Partial<Record<TokenKind, number>>>;
}

export const tokenKinds = [
  "cacheWrite1h",
  "audioInput",
  "cachedAudioInput",
  "imageInput",
  "cachedImageInput",
  "reasoning",
  "audioOutput",
  "imageOutput",
] as const;
export type TokenKind = (typeof tokenKinds)[number];

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
  /** Pico-dollars for each search that the provider makes on the web. */
  readonly perWebSearch?: number;
  /** The same for searches in the files that it keeps. */
  readonly perFileSearch?: number;
  /** By what the rates are multiplied in a service tier, in thousandths; without it by 1. */
  readonly serviceTiers?: Readonly<Partial<Record<ServiceTier, number>>>;
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

/** The rates for a response with this many input tokens, in the tier that served it. */
export function ratesFor(
  { rates, tiers, serviceTiers }: Price,
  inputTokens: number,
  serviceTier: ServiceTier | null = null,
): TokenRates {
  let found = rates;
  for (const tier of tiers) if (inputTokens > tier.aboveInputTokens) found = tier.rates;
  const factor = serviceTier === null ? undefined : serviceTiers?.[serviceTier];
  return factor === undefined || factor === 1000 ? found : scaled(found, factor);
}

/** Rounded to integers, which changes no rate with up to three decimals. */
function scaled(rates: TokenRates, factor: number): TokenRates {
  const times = (rate: number): number => Math.round((rate * factor) / 1000);
  const orNull = (rate: number | null): number | null => (rate === null ? null : times(rate));
  const kinds: Partial<Record<TokenKind, number>> = {};
  for (const kind of tokenKinds) {
    const rate = rates.kinds?.[kind];
    if (rate !== undefined) kinds[kind] = times(rate);
  }
  return {
    input: orNull(rates.input),
    output: orNull(rates.output),
    cachedInput: orNull(rates.cachedInput),
    cacheWrite: orNull(rates.cacheWrite),
    kinds,
  };
}

/** The rate of a kind of tokens: its own, else that of the tokens that it is a part of. */
export function kindRate(rates: TokenRates, kind: TokenKind): number | null {
  const own = rates.kinds?.[kind];
  if (own !== undefined) return own;
  switch (kind) {
    case "cacheWrite1h":
      return rates.cacheWrite ?? rates.input;
    case "cachedAudioInput":
      return rates.cachedInput ?? kindRate(rates, "audioInput");
    case "cachedImageInput":
      return rates.cachedInput ?? kindRate(rates, "imageInput");
    case "audioInput":
    case "imageInput":
      return rates.input;
    case "reasoning":
    case "audioOutput":
    case "imageOutput":
      return rates.output;
  }
}

/**
 * One figure to compare models by, in US dollars per million tokens: three parts input and one part
 * output, the mix that price comparisons of models commonly use, at the base rates without cache
 * and fee. Null without a price for input.
 */
export function blendedUsdPerMillion({ rates }: Price): number | null {
  return rates.input === null ? null : (3 * rates.input + (rates.output ?? 0)) / 4 / 1e6;
}
