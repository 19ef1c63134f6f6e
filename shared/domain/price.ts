/**
 * The price of a model: integer rates per token and per unit, and factors on them.
 * `proxy/usage/price-usage.ts` computes the cost of usage; `proxy/prices/target-prices.ts` finds
 * prices.
 */
import { isCount } from "../checked.js";
import type { DetailName, UsageDetails } from "../usage/usage-details.js";

/** The integers in which a price is stored, per unit in which it is written. */
export const priceScales = {
  /** Pico-dollars per token in a US dollar per million tokens. */
  usdPerMillion: 1e6,
  /** Pico-dollars in a US dollar: a request, a search, a picture. */
  usd: 1e12,
  /** Thousandths in a factor. */
  factor: 1000,
} as const;

/**
 * Pico-dollars per token (`priceScales.usdPerMillion`). Null: that kind of token has
 * no price, which is not a price of 0.
 */
export interface TokenRates {
  readonly input: number | null;
  readonly output: number | null;
  /** Input tokens that were read from a cache; without a rate of its own, the input's. */
  readonly cachedInput: number | null;
  /** Input tokens that were written to a cache; without a rate of its own, the input's. */
  readonly cacheWrite: number | null;
  /** Rates of kinds of tokens that a few models price separately; `kindRate` has the others. */
  readonly kinds?: Readonly<Partial<Record<TokenKind, number>>>;
}

export const tokenKinds = [
  "cacheWrite1h",
  "cacheWrite12h",
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
  /**
   * A response with more input tokens than this has the rates of this tier for all of its tokens.
   */
  readonly aboveInputTokens: number;
  readonly rates: TokenRates;
}

export interface Price {
  readonly rates: TokenRates;
  /** By `aboveInputTokens`, ascending. */
  readonly tiers: readonly PriceTier[];
  /** Pico-dollars for each request, whatever it used. */
  readonly perRequest: number;
  /** Pico-dollars for each unit that isn't a token. */
  readonly perUnit?: Readonly<Partial<Record<UnitName, number>>>;
  /** The minimum length for which sound is billed. */
  readonly audioMsMin?: number;
  /** Pico-dollars for a picture by its kind, such as `high/1024x1024`, `1024x1024` or `high`. */
  readonly perImage?: Readonly<Record<string, number>>;
  /** The factors for the rates of tokens in a service tier. */
  readonly serviceTiers?: Readonly<Record<string, Factors>>;
  /** Likewise where the provider reports that it ran the model in this region. */
  readonly regions?: Readonly<Record<string, Factors>>;
  /** The factor for a reported cost, in thousandths: a discount or a margin. */
  readonly reportedFactor?: number;
  /** Whether this price takes precedence over a reported cost. */
  readonly ignoresReported?: boolean;
}

/**
 * Units that aren't tokens: those that the usage counts, and requests with at least one search.
 * The rate of `audioMs` is for a second.
 */
export const unitNames = [
  "webSearches",
  "fileSearches",
  "mapsSearches",
  "searchUnits",
  "audioMs",
  "characters",
  "images",
  "containers",
  "pages",
  "searchedRequests",
] as const satisfies readonly (DetailName | "searchedRequests")[];
export type UnitName = (typeof unitNames)[number];

/** In thousandths, by what the tokens are; 1000 without one. */
export type Factors = Readonly<Partial<Record<FactorKind, number>>>;
export const factorKinds = ["input", "cachedInput", "cacheWrite", "output"] as const;
export type FactorKind = (typeof factorKinds)[number];

/** The factors that are `factor` for all kinds of tokens. */
export function evenFactors(factor: number): Factors {
  return { input: factor, cachedInput: factor, cacheWrite: factor, output: factor };
}

/**
 * A million dollars per million tokens: far beyond any price, and near enough to keep products
 * exact.
 */
export const usdPerMillionMax = 1_000_000;

/**
 * The integer rate for a price per million tokens; undefined if the price is invalid or has more
 * than six decimals, of which rounding could make 0.
 */
export function rateFromUsdPerMillion(usd: number): number | undefined {
  const { usdPerMillion } = priceScales;
  const rate = Math.round(usd * usdPerMillion);
  return isCount(rate) && usd <= usdPerMillionMax && rate / usdPerMillion === usd
    ? rate
    : undefined;
}

/** The rates for a response with this many input tokens, in the tier and region that served it. */
export function ratesFor(
  { rates, tiers, serviceTiers, regions }: Price,
  inputTokens: number,
  details: Pick<UsageDetails, "serviceTier" | "region"> | null = null,
): TokenRates {
  let tierRates = rates;
  for (const tier of tiers) if (inputTokens > tier.aboveInputTokens) tierRates = tier.rates;
  if (details === null) return tierRates;
  const { serviceTier, region } = details;
  const byTier = serviceTier === null ? undefined : serviceTiers?.[serviceTier];
  const byRegion = region === null ? undefined : regions?.[region];
  if (byTier !== undefined) tierRates = scaledRates(tierRates, byTier);
  return byRegion === undefined ? tierRates : scaledRates(tierRates, byRegion);
}

/** Rounded up to integers, which changes no rate with up to three decimals. */
function scaledRates(rates: TokenRates, factors: Factors): TokenRates {
  if (factorKinds.every((kind) => (factors[kind] ?? 1000) === 1000)) return rates;
  const times = (rate: number, kind: FactorKind): number => scaled(rate, factors[kind] ?? 1000);
  const orNull = (rate: number | null, kind: FactorKind): number | null =>
    rate === null ? null : times(rate, kind);
  // Without a rate of its own a kind has the input's rate; here it needs one, for its own factor.
  const rateOf = (kind: "cachedInput" | "cacheWrite"): number | null =>
    (factors[kind] ?? 1000) === (factors.input ?? 1000)
      ? rates[kind]
      : (rates[kind] ?? rates.input);
  const kinds: Partial<Record<TokenKind, number>> = {};
  for (const kind of tokenKinds) {
    const rate = rates.kinds?.[kind];
    if (rate !== undefined) kinds[kind] = times(rate, factorKindOf[kind]);
  }
  return {
    input: orNull(rates.input, "input"),
    output: orNull(rates.output, "output"),
    cachedInput: orNull(rateOf("cachedInput"), "cachedInput"),
    cacheWrite: orNull(rateOf("cacheWrite"), "cacheWrite"),
    kinds,
  };
}

/** An amount times a factor in thousandths, rounded up: a cost is never less than the bill. */
export function scaled(amount: number, factor: number): number {
  return factor === 1000 ? amount : Math.ceil((amount * factor) / 1000);
}

const factorKindOf: Readonly<Record<TokenKind, FactorKind>> = {
  cacheWrite1h: "cacheWrite",
  cacheWrite12h: "cacheWrite",
  audioInput: "input",
  cachedAudioInput: "cachedInput",
  imageInput: "input",
  cachedImageInput: "cachedInput",
  reasoning: "output",
  audioOutput: "output",
  imageOutput: "output",
};

/** The whole price times a factor in thousandths: a discount or a margin. */
export function scaledPrice(price: Price, factor: number): Price {
  if (factor === 1000) return price;
  const factors = evenFactors(factor);
  const amounts = <K extends string>(
    amountByName: Readonly<Partial<Record<K, number>>> | undefined,
  ) =>
    Object.fromEntries(
      Object.entries<number | undefined>(amountByName ?? {}).map(([name, amount = 0]) => [
        name,
        scaled(amount, factor),
      ]),
    ) as Record<K, number>;
  return {
    ...price,
    rates: scaledRates(price.rates, factors),
    tiers: price.tiers.map((tier) => ({ ...tier, rates: scaledRates(tier.rates, factors) })),
    perRequest: scaled(price.perRequest, factor),
    perUnit: amounts(price.perUnit),
    perImage: amounts(price.perImage),
    reportedFactor: scaled(price.reportedFactor ?? 1000, factor),
  };
}

/** The rate of a kind of tokens: its own, else the rate of the tokens that include it. */
export function kindRate(rates: TokenRates, kind: TokenKind): number | null {
  const ownRate = rates.kinds?.[kind];
  if (ownRate !== undefined) return ownRate;
  switch (kind) {
    case "cacheWrite1h":
    case "cacheWrite12h":
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
  return rates.input === null
    ? null
    : (3 * rates.input + (rates.output ?? 0)) / 4 / priceScales.usdPerMillion;
}
