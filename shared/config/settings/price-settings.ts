/**
 * What a price in the file is made of, in two tables that `docs/configuration.md` is checked
 * against. What the numbers become is in `../price.ts`; checking declared prices together is in
 * `prices.ts`.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { rateFromUsdPerMillion, usdPerMillionMax } from "../../domain/price.js";
import { integer, numberOf, type ValueKind } from "./setting-kind.js";

export interface PriceSetting {
  readonly kind: ValueKind<number>;
  /** Null: required. */
  readonly shown: string | null;
  readonly meaning: string;
}

const perRequestUsdMax = 1000;

/** US dollars per million tokens, kept as pico-dollars per token. */
const usdPerMillion: ValueKind<number> = {
  label: "number",
  expected: `must be a number of US dollars per million tokens from 0 to ${usdPerMillionMax}, with at most six decimals`,
  quotable: () => true,
  parse: (raw) => {
    const usd = numberOf(raw);
    return usd === undefined ? undefined : rateFromUsdPerMillion(usd);
  },
};

/** US dollars, kept as pico-dollars. */
const usdPerRequest: ValueKind<number> = {
  label: "number",
  expected: `must be a number of US dollars from 0 to ${perRequestUsdMax}, with at most nine decimals`,
  quotable: () => true,
  parse: (raw) => {
    const usd = numberOf(raw);
    if (usd === undefined || !(usd >= 0 && usd <= perRequestUsdMax)) return undefined;
    const nano = Math.round(usd * 1e9);
    return nano / 1e9 === usd ? nano * 1000 : undefined;
  },
};

const rate = (shown: string | null, meaning: string): PriceSetting => ({
  kind: usdPerMillion,
  shown,
  meaning,
});

/** By the key in the file, under `prices["provider/model"]`; `tiers` stands beside them. */
export const priceSettings = {
  input: rate(null, "Input tokens, in US dollars per million, like all rates."),
  output: rate(null, "Output tokens, reasoning included."),
  cached_input: rate("input", "Input tokens that were read from a cache."),
  cache_write: rate("input", "Input tokens that were written to a cache."),
  per_request: {
    kind: usdPerRequest,
    shown: "0",
    meaning: "A fee for each request, in US dollars.",
  },
} as const satisfies Readonly<Record<string, PriceSetting>>;

/**
 * By the key in the file, in an entry of `tiers`. A rate that isn't given stays that of the price.
 */
export const tierSettings = {
  above_input_tokens: {
    kind: integer({ min: 1, max: tokensPerResponseMax }),
    shown: null,
    meaning:
      "A response with more input tokens than this has all of its tokens at this tier's rates.",
  },
  input: rate("the price's", "As above."),
  output: rate("the price's", "As above."),
  cached_input: rate("the price's", "As above."),
  cache_write: rate("the price's", "As above."),
} as const satisfies Readonly<Record<string, PriceSetting>>;

/** The checked fields; null for those that weren't given. */
export type PriceFields = { readonly [K in keyof typeof priceSettings]: number | null };
export type TierFields = { readonly [K in keyof typeof tierSettings]: number | null };
