/**
 * The fields of a price and of its tiers in the file. `../../domain/price.ts` computes costs from
 * them; `../build/prices.ts` checks the declared prices together.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { rateFromUsdPerMillion, usdPerMillionMax } from "../../domain/price.js";
import { integer, numberOf } from "../kinds/number-kinds.js";
import { always, type ValueKind } from "../kinds/value-kind.js";
import type { Field, FieldValues } from "./setting.js";

const perRequestUsdMax = 1000;

/** US dollars per million tokens, stored as pico-dollars per token. */
const usdPerMillion: ValueKind<number> = {
  label: "number",
  expected: `must be a number of US dollars per million tokens from 0 to ${usdPerMillionMax}, with at most six decimals`,
  quotable: always,
  parse: (raw) => {
    const usd = numberOf(raw);
    return usd === undefined ? undefined : rateFromUsdPerMillion(usd);
  },
};

/** US dollars, stored as pico-dollars. */
const usdPerRequest: ValueKind<number> = {
  label: "number",
  expected: `must be a number of US dollars from 0 to ${perRequestUsdMax}, with at most nine decimals`,
  quotable: always,
  parse: (raw) => {
    const usd = numberOf(raw);
    if (usd === undefined || !(usd >= 0 && usd <= perRequestUsdMax)) return undefined;
    const nano = Math.round(usd * 1e9);
    return nano / 1e9 === usd ? nano * 1000 : undefined;
  },
};

const rate = (defaultText: string | null, meaning: string): Field<number> => ({
  kind: usdPerMillion,
  defaultText,
  meaning,
});

/** By the key in the file, under `prices["provider/model"]`; beside `tiers`. */
export const priceSettings = {
  input: rate(null, "Input tokens, in US dollars per million, like all rates."),
  output: rate(null, "Output tokens, reasoning included."),
  cached_input: rate("input", "Input tokens that were read from a cache."),
  cache_write: rate("input", "Input tokens that were written to a cache."),
  per_request: {
    kind: usdPerRequest,
    defaultText: "0",
    meaning: "A fee for each request, in US dollars.",
  },
} as const satisfies Readonly<Record<string, Field<number>>>;

/**
 * By the key in the file, in an entry of `tiers`. A rate that it leaves out is the price's.
 */
export const tierSettings = {
  above_input_tokens: {
    kind: integer({ min: 1, max: tokensPerResponseMax }),
    defaultText: null,
    meaning:
      "A response with more input tokens than this has all of its tokens at this tier's rates.",
  },
  input: rate("the price's", "As above."),
  output: rate("the price's", "As above."),
  cached_input: rate("the price's", "As above."),
  cache_write: rate("the price's", "As above."),
} as const satisfies Readonly<Record<string, Field<number>>>;

/** The checked fields of a price and of a tier; null for those that the file leaves out. */
export type PriceFields = FieldValues<typeof priceSettings>;
export type TierFields = FieldValues<typeof tierSettings>;
