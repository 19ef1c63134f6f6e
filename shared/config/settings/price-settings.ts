/**
 * The fields of a price, of its tiers and of its changes in the file. `../../domain/price.ts`
 * computes costs from them; `../resolve/prices.ts` checks the declared prices together.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { isObject } from "../../checked.js";
import {
  evenFactors,
  type FactorKind,
  type Factors,
  priceScales,
  rateFromUsdPerMillion,
  type TokenKind,
  type UnitName,
  usdPerMillionMax,
} from "../../domain/price.js";
import { labelOf } from "../../usage/usage-details.js";
import { integer, numberOf, numberSchema } from "../kinds/number-kinds.js";
import { text } from "../kinds/text-kinds.js";
import { always, type JsonSchema, type ValueKind } from "../kinds/value-kind.js";
import type { EntryList, Field, FieldValues } from "./setting.js";

const perRequestUsdMax = 1000;

/** US dollars per million tokens, stored as pico-dollars per token. */
const usdPerMillion: ValueKind<number> = {
  label: "number",
  range: `0 to ${usdPerMillionMax}`,
  scale: priceScales.usdPerMillion,
  expected: `must be a number of US dollars per million tokens from 0 to ${usdPerMillionMax}, with at most six decimals`,
  quotable: always,
  parse: (raw) => {
    const usd = numberOf(raw);
    return usd === undefined ? undefined : rateFromUsdPerMillion(usd);
  },
  schema: numberSchema("number", { min: 0, max: usdPerMillionMax }),
};

/** US dollars, stored as pico-dollars. */
const usdPerUnit: ValueKind<number> = {
  label: "number",
  range: `0 to ${perRequestUsdMax}`,
  scale: priceScales.usd,
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
const factorRange = `from 0 to ${factorMax}, with at most three decimals`;
const factorSchema = numberSchema("number", { min: 0, max: factorMax });

/** A factor in thousandths. */
function factorOf(raw: unknown): number | undefined {
  const factor = numberOf(raw);
  if (factor === undefined || !(factor >= 0 && factor <= factorMax)) return undefined;
  const thousandths = Math.round(factor * 1000);
  return thousandths / 1000 === factor ? thousandths : undefined;
}

const factor: ValueKind<number> = {
  label: "number",
  range: `0 to ${factorMax}`,
  scale: priceScales.factor,
  expected: `must be a number ${factorRange}`,
  quotable: always,
  parse: factorOf,
  schema: factorSchema,
};

/** The kinds of tokens that may have factors of their own. */
const factorFields = {
  input: "input",
  cached_input: "cachedInput",
  cache_write: "cacheWrite",
  output: "output",
} as const satisfies Readonly<Record<string, FactorKind>>;

/** One factor, or a mapping of kinds of tokens to theirs. */
function factorsOf(raw: unknown): Factors | undefined {
  if (!isObject(raw)) {
    const even = factorOf(raw);
    return even === undefined ? undefined : evenFactors(even);
  }
  const factors: Partial<Record<FactorKind, number>> = {};
  for (const [name, value] of Object.entries(raw)) {
    const factorName = Object.hasOwn(factorFields, name)
      ? (name as keyof typeof factorFields)
      : null;
    const factor = factorOf(value);
    if (factorName === null || factor === undefined) return undefined;
    factors[factorFields[factorName]] = factor;
  }
  return factors;
}

/** A mapping whose names and values are all valid; undefined if one isn't. */
function mappingOf<T>(
  raw: unknown,
  nameOf: (name: string) => string | null,
  read: (value: unknown) => T | undefined,
): Readonly<Record<string, T>> | undefined {
  if (!isObject(raw)) return undefined;
  const entries: [string, T][] = [];
  for (const [key, value] of Object.entries(raw)) {
    const name = nameOf(key);
    const parsed = read(value);
    if (name === null || parsed === undefined) return undefined;
    entries.push([name, parsed]);
  }
  return Object.fromEntries(entries);
}

const factorsSchema: JsonSchema = {
  anyOf: [
    factorSchema,
    {
      type: "object",
      properties: Object.fromEntries(Object.keys(factorFields).map((name) => [name, factorSchema])),
      additionalProperties: false,
    },
  ],
};

/** By a name that the provider reports, such as a service tier or a region. */
const factorsByName: ValueKind<Readonly<Record<string, Factors>>> = {
  label: "mapping",
  range: `0 to ${factorMax}`,
  scale: priceScales.factor,
  expected: `must be a mapping of names to numbers ${factorRange}, or to mappings of ${Object.keys(factorFields).join(", ")} to such numbers`,
  quotable: always,
  parse: (raw) => mappingOf(raw, labelOf, factorsOf),
  schema: { type: "object", additionalProperties: factorsSchema },
};

/**
 * A factor for the minutes of a day from `fromMinute` to before `toMinute`, in UTC; the range may
 * pass midnight.
 */
interface HoursFactor {
  readonly fromMinute: number;
  readonly toMinute: number;
  readonly factor: number;
}

const span = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/;

const hours: ValueKind<readonly HoursFactor[]> = {
  label: "mapping",
  range: `0 to ${factorMax}`,
  scale: priceScales.factor,
  expected: `must be a mapping of times such as 16:30-00:30 in UTC to numbers ${factorRange}`,
  quotable: always,
  parse: (raw) => {
    const byTime = mappingOf(raw, (name) => (span.test(name) ? name : null), factorOf);
    if (byTime === undefined) return undefined;
    return Object.entries(byTime).map(([time, thousandths]) => {
      const [fromHour = 0, from = 0, toHour = 0, to = 0] = span.exec(time)!.slice(1).map(Number);
      return { fromMinute: fromHour * 60 + from, toMinute: toHour * 60 + to, factor: thousandths };
    });
  },
  schema: {
    type: "object",
    patternProperties: { [span.source]: factorSchema },
    additionalProperties: false,
  },
};

/** By quality and size, such as `high/1024x1024`, or by one of them. */
const usdByImage: ValueKind<Readonly<Record<string, number>>> = {
  label: "mapping",
  range: usdPerUnit.range ?? "",
  scale: priceScales.usd,
  expected: `must be a mapping of qualities and sizes, such as high/1024x1024, to numbers of US dollars from 0 to ${perRequestUsdMax}, with at most nine decimals`,
  quotable: always,
  parse: (raw) => mappingOf(raw, (name) => (name.trim() === "" ? null : name), usdPerUnit.parse),
  schema: { type: "object", additionalProperties: usdPerUnit.schema },
};

const reported: ValueKind<"prefer" | "ignore"> = {
  label: "prefer or ignore",
  words: ["prefer", "ignore"],
  expected: "must be prefer or ignore",
  quotable: always,
  parse: (raw) => (raw === "prefer" || raw === "ignore" ? raw : undefined),
  schema: { enum: ["prefer", "ignore"] },
};

/** A day or a time, stored as milliseconds since 1970. */
const startTime: ValueKind<number> = {
  label: "date",
  expected: "must be a date such as 2026-12-01, or a time such as 2026-12-01T09:00:00Z",
  quotable: always,
  parse: (raw) => {
    if (raw instanceof Date) return raw.getTime();
    if (typeof raw !== "string" || !/^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/.test(raw)) return undefined;
    const ms = Date.parse(raw);
    return Number.isNaN(ms) ? undefined : ms;
  },
  schema: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d" },
};

const unit = (example: string, meaning: string): Field<number> => ({
  kind: usdPerUnit,
  defaultText: "none",
  example,
  meaning,
});

const rate = (defaultText: string | null, example: string, meaning: string): Field<number> => ({
  kind: usdPerMillion,
  defaultText,
  example,
  meaning,
});

/** Rates of tokens, searches and other units, and the factors on them. */
const rateSettings = {
  input: rate("none", "2.5", "Input tokens."),
  output: rate("none", "10", "Output tokens, reasoning included."),
  cached_input: rate("input", "1.25", "Input tokens read from a cache."),
  cache_write: rate("input", "2.5", "Input tokens written to a cache."),
  cache_write_1h: rate("cache_write", "5", "The same, kept for an hour."),
  cache_write_12h: rate("cache_write", "5", "The same, kept for twelve hours."),
  audio_input: rate("input", "40", "Audio input tokens."),
  cached_audio_input: rate("cached_input", "2.5", "Audio tokens read from a cache."),
  image_input: rate("input", "5", "Image input tokens."),
  cached_image_input: rate("cached_input", "1.25", "Image tokens read from a cache."),
  reasoning: rate("output", "10", "Reasoning tokens."),
  audio_output: rate("output", "80", "Audio output tokens."),
  image_output: rate("output", "40", "Image output tokens."),
  per_request: {
    kind: usdPerUnit,
    defaultText: "0",
    example: "0.005",
    meaning: "US dollars a request.",
  },
  per_second: unit("0.0001", "US dollars a second of sound."),
  per_minute: unit("0.006", "US dollars a minute of sound."),
  per_character: unit("0.000015", "US dollars a character of speech."),
  per_image: unit("0.04", "US dollars a picture."),
  images: {
    kind: usdByImage,
    defaultText: "per_image",
    example: "{ hd/1024x1024: 0.08, 512x512: 0.018 }",
    meaning: "US dollars a picture by quality and size, or by one of them.",
  },
  per_page: unit("0.001", "US dollars a page of a document that was read."),
  per_search_unit: unit("0.002", "US dollars a search unit of a reranker."),
  per_web_search: unit("0.01", "US dollars a web search of the provider's."),
  per_searched_request: unit("0.035", "US dollars a request with at least one web search."),
  per_file_search: unit("0.0025", "US dollars a file search of the provider's."),
  per_maps_search: unit("0.025", "US dollars a request grounded with maps."),
  per_container: unit("0.03", "US dollars a container that ran code, for each GB of its memory."),
  service_tiers: {
    kind: factorsByName,
    defaultText: "none",
    example: "{ priority: 1.7, flex: { input: 0.5, output: 0.5 } }",
    meaning: "Factor on the rates of tokens by service tier, or by kind of token in it.",
  },
  regions: {
    kind: factorsByName,
    defaultText: "none",
    example: "{ us: 1.1 }",
    meaning: "Factor on the rates of tokens by the region that the provider reports.",
  },
} as const satisfies Readonly<Record<string, Field<unknown>>>;

/** By the key in the file, under `prices["provider/model"]`; beside `tiers` and `changes`. */
export const priceSettings = {
  extends: {
    kind: text,
    defaultText: "none",
    example: "list",
    meaning:
      "Source of absent rates: `list`, which is the built-in price, or another `provider/model`.",
  },
  ...rateSettings,
  hours: {
    kind: hours,
    defaultText: "none",
    example: '{ "16:30-00:30": 0.5 }',
    meaning: "Factor on the whole price by the time of day, in UTC.",
  },
  factor: {
    kind: factor,
    defaultText: "1",
    example: "0.9",
    meaning: "Factor on the whole price: a discount, or a margin.",
  },
  reported: {
    kind: reported,
    defaultText: "ignore",
    example: "ignore",
    meaning:
      "Whether a cost that the provider reports takes precedence over this price; `factor` applies to it.",
  },
} as const satisfies Readonly<Record<string, Field<unknown>>>;

/** The lists beside them. */
export const priceLists = {
  tiers: { entriesMax: 100, meaning: "Other rates for long input, lowest tier first." },
  changes: { entriesMax: 100, meaning: "Rates that change at a date, earliest first." },
} as const satisfies Readonly<Record<string, EntryList>>;

const tierRate = (example: string): Field<number> =>
  rate("the price's", example, "The rate in this tier.");

/** By the key in the file, in an entry of `tiers`. A missing rate is that of the price. */
export const tierSettings = {
  above_input_tokens: {
    kind: integer({ min: 1, max: tokensPerResponseMax }),
    defaultText: null,
    example: "200000",
    meaning: "Responses with more input tokens than this cost the tier's rates.",
  },
  input: tierRate("5"),
  output: tierRate("15"),
  cached_input: tierRate("1.25"),
  cache_write: tierRate("2.5"),
  cache_write_1h: tierRate("5"),
  cache_write_12h: tierRate("5"),
  audio_input: tierRate("40"),
  cached_audio_input: tierRate("2.5"),
  image_input: tierRate("5"),
  cached_image_input: tierRate("1.25"),
  reasoning: tierRate("10"),
  audio_output: tierRate("80"),
  image_output: tierRate("40"),
} as const satisfies Readonly<Record<string, Field<number>>>;

/** By the key in the file, in an entry of `changes`. A missing field stays unchanged. */
export const changeSettings = {
  from: {
    kind: startTime,
    defaultText: null,
    example: "2027-01-01",
    meaning: "When these rates begin, in UTC.",
  },
  ...rateSettings,
} as const satisfies Readonly<Record<string, Field<unknown>>>;

/** The field of each kind of tokens that may have a rate of its own. */
export const kindFields = {
  cacheWrite1h: "cache_write_1h",
  cacheWrite12h: "cache_write_12h",
  audioInput: "audio_input",
  cachedAudioInput: "cached_audio_input",
  imageInput: "image_input",
  cachedImageInput: "cached_image_input",
  reasoning: "reasoning",
  audioOutput: "audio_output",
  imageOutput: "image_output",
} as const satisfies Readonly<Record<TokenKind, keyof typeof tierSettings>>;

/** The field of each unit; the price of sound may also be by the minute. */
export const unitFields = {
  webSearches: "per_web_search",
  fileSearches: "per_file_search",
  mapsSearches: "per_maps_search",
  searchUnits: "per_search_unit",
  audioMs: "per_second",
  characters: "per_character",
  images: "per_image",
  containers: "per_container",
  pages: "per_page",
  searchedRequests: "per_searched_request",
} as const satisfies Readonly<Record<UnitName, keyof typeof rateSettings>>;

/** The checked fields of a price and of its parts; null for those that the file leaves out. */
export type PriceFields = FieldValues<typeof priceSettings>;
export type RateFields = FieldValues<typeof rateSettings>;
export type ChangeFields = FieldValues<typeof changeSettings>;
export type TierFields = FieldValues<typeof tierSettings>;
