/**
 * The fields of a price and of its tiers in the file. `../../domain/price.ts` computes costs from
 * them; `../build/prices.ts` checks the declared prices together.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { isObject } from "../../checked.js";
import { rateFromUsdPerMillion, type TokenKind, usdPerMillionMax } from "../../domain/price.js";
import { type ServiceTier, serviceTiers } from "../../usage/usage-details.js";
import { integer, numberOf, numberSchema } from "../kinds/number-kinds.js";
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
  schema: numberSchema("number", { min: 0, max: usdPerMillionMax }),
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
  schema: numberSchema("number", { min: 0, max: perRequestUsdMax }),
};

const factorMax = 100;

/** By service tier, stored in thousandths. */
const tierFactors: ValueKind<Readonly<Partial<Record<ServiceTier, number>>>> = {
  label: "mapping",
  expected: `must be a mapping of ${serviceTiers.join(", ")} to numbers from 0 to ${factorMax}, with at most three decimals`,
  quotable: always,
  parse: (raw) => {
    if (!isObject(raw)) return undefined;
    const factors: Partial<Record<ServiceTier, number>> = {};
    for (const [name, value] of Object.entries(raw)) {
      const tier = serviceTiers.find((known) => known === name);
      const factor = numberOf(value);
      if (tier === undefined || factor === undefined || !(factor >= 0 && factor <= factorMax))
        return undefined;
      factors[tier] = Math.round(factor * 1000);
      if (factors[tier] / 1000 !== factor) return undefined;
    }
    return factors;
  },
  schema: {
    type: "object",
    properties: Object.fromEntries(
      serviceTiers.map((name) => [name, numberSchema("number", { min: 0, max: factorMax })]),
    ),
    additionalProperties: false,
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
  cache_write_1h: rate("cache_write", "The same, where the cache keeps them for an hour."),
  audio_input: rate("input", "Input tokens that are audio."),
  cached_audio_input: rate("cached_input", "Audio tokens that were read from a cache."),
  image_input: rate("input", "Input tokens that are images."),
  cached_image_input: rate("cached_input", "Image tokens that were read from a cache."),
  reasoning: rate("output", "Output tokens that the model thought."),
  audio_output: rate("output", "Output tokens that are audio."),
  image_output: rate("output", "Output tokens that are images."),
  per_request: {
    kind: usdPerRequest,
    defaultText: "0",
    meaning: "A fee for each request, in US dollars.",
  },
  per_web_search: {
    kind: usdPerRequest,
    defaultText: "0",
    meaning: "A fee for each search of the web that the provider makes, in US dollars.",
  },
  per_file_search: {
    kind: usdPerRequest,
    defaultText: "0",
    meaning: "A fee for each search in files that the provider keeps, in US dollars.",
  },
  service_tiers: {
    kind: tierFactors,
    defaultText: "none",
    meaning: "By what all rates are multiplied in a service tier, such as { flex: 0.5 }.",
  },
} as const satisfies Readonly<Record<string, Field<unknown>>>;

const tierRate = (): Field<number> => rate("the price's", "As above.");

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
  input: tierRate(),
  output: tierRate(),
  cached_input: tierRate(),
  cache_write: tierRate(),
  cache_write_1h: tierRate(),
  audio_input: tierRate(),
  cached_audio_input: tierRate(),
  image_input: tierRate(),
  cached_image_input: tierRate(),
  reasoning: tierRate(),
  audio_output: tierRate(),
  image_output: tierRate(),
} as const satisfies Readonly<Record<string, Field<number>>>;

/** The field of each kind of tokens that may have a rate of its own. */
export const kindFields = {
  cacheWrite1h: "cache_write_1h",
  audioInput: "audio_input",
  cachedAudioInput: "cached_audio_input",
  imageInput: "image_input",
  cachedImageInput: "cached_image_input",
  reasoning: "reasoning",
  audioOutput: "audio_output",
  imageOutput: "image_output",
} as const satisfies Readonly<Record<TokenKind, keyof typeof tierSettings>>;

/** The checked fields of a price and of a tier; null for those that the file leaves out. */
export type PriceFields = FieldValues<typeof priceSettings>;
export type TierFields = FieldValues<typeof tierSettings>;
