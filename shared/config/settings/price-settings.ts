/**
 * The fields of a price and of its tiers in the file. `../../domain/price.ts` computes costs from
 * them; `../resolve/prices.ts` checks the declared prices together.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { isObject } from "../../checked.js";
import { rateFromUsdPerMillion, type TokenKind, usdPerMillionMax } from "../../domain/price.js";
import { type ServiceTier, serviceTiers } from "../../usage/usage-details.js";
import { integer, numberOf, numberSchema } from "../kinds/number-kinds.js";
import { always, type ValueKind } from "../kinds/value-kind.js";
import type { EntryList, Field, FieldValues } from "./setting.js";

const perRequestUsdMax = 1000;

/** US dollars per million tokens, stored as pico-dollars per token. */
const usdPerMillion: ValueKind<number> = {
  label: "number",
  range: `0 to ${usdPerMillionMax}`,
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
  range: `0 to ${perRequestUsdMax}`,
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
  range: `0 to ${factorMax}`,
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

const rate = (defaultText: string | null, example: string, meaning: string): Field<number> => ({
  kind: usdPerMillion,
  defaultText,
  example,
  meaning,
});

/** By the key in the file, under `prices["provider/model"]`; beside `tiers`. */
export const priceSettings = {
  input: rate(null, "2.5", "Input tokens."),
  output: rate(null, "10", "Output tokens, reasoning included."),
  cached_input: rate("input", "1.25", "Input tokens read from a cache."),
  cache_write: rate("input", "2.5", "Input tokens written to a cache."),
  cache_write_1h: rate("cache_write", "5", "The same, kept for an hour."),
  audio_input: rate("input", "40", "Audio input tokens."),
  cached_audio_input: rate("cached_input", "2.5", "Audio tokens read from a cache."),
  image_input: rate("input", "5", "Image input tokens."),
  cached_image_input: rate("cached_input", "1.25", "Image tokens read from a cache."),
  reasoning: rate("output", "10", "Reasoning tokens."),
  audio_output: rate("output", "80", "Audio output tokens."),
  image_output: rate("output", "40", "Image output tokens."),
  per_request: {
    kind: usdPerRequest,
    defaultText: "0",
    example: "0",
    meaning: "US dollars a request.",
  },
  per_web_search: {
    kind: usdPerRequest,
    defaultText: "0",
    example: "0.01",
    meaning: "US dollars a web search of the provider's.",
  },
  per_file_search: {
    kind: usdPerRequest,
    defaultText: "0",
    example: "0.0025",
    meaning: "US dollars a file search of the provider's.",
  },
  service_tiers: {
    kind: tierFactors,
    defaultText: "none",
    example: "{ flex: 0.5, priority: 1.7 }",
    meaning: "Factor on all rates by service tier, such as { flex: 0.5 }.",
  },
} as const satisfies Readonly<Record<string, Field<unknown>>>;

/** Beside them. */
export const priceLists = {
  tiers: { entriesMax: 100, meaning: "Other rates for long input, lowest tier first." },
} as const satisfies Readonly<Record<string, EntryList>>;

const tierRate = (example: string): Field<number> =>
  rate("the price's", example, "The rate in this tier.");

/**
 * By the key in the file, in an entry of `tiers`. A rate that it leaves out is the price's.
 */
export const tierSettings = {
  above_input_tokens: {
    kind: integer({ min: 1, max: tokensPerResponseMax }),
    defaultText: null,
    example: "200000",
    meaning: "Responses with more input tokens than this are charged at the tier's rates.",
  },
  input: tierRate("5"),
  output: tierRate("15"),
  cached_input: tierRate("1.25"),
  cache_write: tierRate("2.5"),
  cache_write_1h: tierRate("5"),
  audio_input: tierRate("40"),
  cached_audio_input: tierRate("2.5"),
  image_input: tierRate("5"),
  cached_image_input: tierRate("1.25"),
  reasoning: tierRate("10"),
  audio_output: tierRate("80"),
  image_output: tierRate("40"),
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
