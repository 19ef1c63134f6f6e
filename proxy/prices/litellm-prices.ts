/**
 * Makes `docs/prices.json` from the map of models that LiteLLM publishes (MIT), for a release, and
 * a newer list for `sluice prices update`. The proxy doesn't run this.
 */
import { isObject } from "../../shared/checked.js";
import {
  type Factors,
  priceScales,
  type TokenKind,
  type TokenRates,
  type UnitName,
} from "../../shared/domain/price.js";
import type { PriceList } from "./price-list.js";
import type { FiledPrice, PriceFile } from "./prices-json.js";
import { vendorTiers, vendorUnits } from "./vendor-prices.js";

/** A model in LiteLLM's map. */
export type ListedModel = Readonly<Record<string, unknown>>;

/** Where LiteLLM publishes its map. */
export const litellmMapUrl =
  "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";

type PriceMap = Readonly<Record<string, ListedModel>>;

/** Whether a document is LiteLLM's map, and not a list of ours. */
export function isPriceMap(document: unknown): document is PriceMap {
  if (!isObject(document)) return false;
  const all = Object.values(document);
  return (
    all.every((entry) => isObject(entry)) &&
    all.some((entry) => isObject(entry) && typeof entry["litellm_provider"] === "string")
  );
}

/** The costs in a map that can't be prices, because they are negative or infinite. */
export function mapProblems(map: PriceMap): readonly string[] {
  return Object.entries(map).flatMap(([key, listed]) =>
    Object.entries(listed)
      .filter(([name, value]) => /cost/.test(name) && isNoAmount(value))
      .map(([name, value]) => `${key}.${name}: ${value} is no price`),
  );
}

function isNoAmount(value: unknown): value is number {
  return typeof value === "number" && !(value >= 0 && value < Infinity);
}

/** LiteLLM's name of a provider, the prefix of its keys, and Sluice's name of the list. */
const providers: readonly (readonly [theirs: string, prefix: string, ours: string])[] = [
  ["openai", "", "openai"],
  ["text-completion-openai", "", "openai"],
  ["anthropic", "", "anthropic"],
  ["gemini", "gemini/", "google"],
  // Vertex AI's endpoint has models of Google and of others.
  ["vertex_ai-language-models", "", "google"],
  ["vertex_ai", "vertex_ai/", "google"],
  ["azure", "azure/", "azure"],
  ["azure_ai", "azure_ai/", "azure"],
  ["bedrock", "bedrock/", "aws"],
  ["bedrock_converse", "", "aws"],
  ["bedrock_mantle", "bedrock_mantle/", "aws"],
  ["mistral", "mistral/", "mistral"],
  ["xai", "xai/", "x-ai"],
  ["groq", "groq/", "groq"],
  ["fireworks_ai", "fireworks_ai/", "fireworks"],
  ["together_ai", "together_ai/", "together"],
  ["deepinfra", "deepinfra/", "deepinfra"],
  ["cerebras", "cerebras/", "cerebras"],
  ["cohere", "cohere/", "cohere"],
  ["cohere_chat", "", "cohere"],
  ["nebius", "nebius/", "nebius"],
  ["sambanova", "sambanova/", "sambanova"],
  ["scaleway", "scaleway/", "scaleway"],
];

/** Matches keys that aren't ids: prices for sizes of models, and for one region, size or step. */
const notIds =
  /^(?:fireworks-ai|together-ai)-|^(?:(?:us|eu|global|global-standard)|[a-z]{2}(?:-gov)?-[a-z]+-\d|\*)\/|\*|\/\d-month|^(?:1024-x|256-x|512-x|\d+-x-|max-x|\d+-steps)/;

interface Id {
  readonly providerId: string;
  readonly model: string;
  readonly listed: ListedModel;
}

/** The models of the known providers; those of Google's own API precede those of Vertex AI. */
export function currentIds(map: PriceMap, date: string): readonly Id[] {
  return providers.flatMap(([theirs, prefix, providerId]) =>
    Object.entries(map).flatMap(([key, listed]) => {
      if (listed["litellm_provider"] !== theirs) return [];
      const model = (key.startsWith(prefix) ? key.slice(prefix.length) : key).toLowerCase();
      const end = listed["deprecation_date"];
      return notIds.test(model) || (typeof end === "string" && end <= date)
        ? []
        : [{ providerId, model, listed }];
    }),
  );
}

export function isPerToken({ listed }: Pick<Id, "listed">): boolean {
  const rates = [listed["input_cost_per_token"], listed["output_cost_per_token"]];
  return rates.some((rate) => typeof rate === "number" && rate > 0);
}

const rateKeys = {
  input: "input_cost_per_token",
  output: "output_cost_per_token",
  cachedInput: "cache_read_input_token_cost",
  cacheWrite: "cache_creation_input_token_cost",
} as const;
const kindKeys: Readonly<Partial<Record<TokenKind, string>>> = {
  cacheWrite1h: "cache_creation_input_token_cost_above_1hr",
  audioInput: "input_cost_per_audio_token",
  cachedAudioInput: "cache_read_input_audio_token_cost",
  imageInput: "input_cost_per_image_token",
  cachedImageInput: "cache_read_input_image_token_cost",
  reasoning: "output_cost_per_reasoning_token",
  audioOutput: "output_cost_per_audio_token",
  imageOutput: "output_cost_per_image_token",
};

const pico = (usd: number): number => Math.round(usd * priceScales.usd);

function amount(entry: ListedModel, key: string): number | null {
  const value = entry[key];
  return typeof value === "number" && value >= 0 ? value : null;
}

/** `suffix`: of a tier of long input. */
function ratesOf(entry: ListedModel, suffix = ""): TokenRates {
  const rate = (key: string): number | null => {
    const usd = amount(entry, key + suffix) ?? amount(entry, key);
    return usd === null ? null : pico(usd);
  };
  const kinds: Partial<Record<TokenKind, number>> = {};
  for (const [kind, key] of Object.entries(kindKeys)) {
    const rateOfKey = rate(key);
    if (rateOfKey !== null) kinds[kind as TokenKind] = rateOfKey;
  }
  return {
    input: rate(rateKeys.input),
    output: rate(rateKeys.output),
    cachedInput: rate(rateKeys.cachedInput),
    cacheWrite: rate(rateKeys.cacheWrite),
    kinds,
  };
}

function tiersOf(entry: ListedModel): FiledPrice["tiers"] {
  const suffixes = new Map<number, string>();
  for (const key of Object.keys(entry)) {
    const match = /^(?:in|out)put_cost_per_token(_above_(\d+)k_tokens)$/.exec(key);
    if (match !== null) suffixes.set(Number(match[2]) * 1000, match[1]!);
  }
  return [...suffixes]
    .sort(([a], [b]) => a - b)
    .map(([aboveInputTokens, suffix]) => ({ aboveInputTokens, rates: ratesOf(entry, suffix) }));
}

const tierSuffixes = {
  flex: "_flex",
  batch: "_batches",
  priority: "_priority",
  ultrafast: "_ultrafast",
} as const;

/**
 * The factors of a service tier; null if the tier has no price. A kind without a price has the
 * factor of the input.
 */
function factorsIn(entry: ListedModel, suffix: string): Factors | null {
  const factor = (key: string): number | null => {
    const [plain, tier] = [amount(entry, key), amount(entry, key + suffix)];
    return plain === null || plain === 0 || tier === null
      ? null
      : Math.round((tier / plain) * 1000);
  };
  const input = factor(rateKeys.input);
  if (input === null) return null;
  return {
    input,
    output: factor(rateKeys.output) ?? input,
    cachedInput: factor(rateKeys.cachedInput) ?? input,
    cacheWrite: factor(rateKeys.cacheWrite) ?? input,
  };
}

function serviceTiersOf({ providerId, listed }: Id): Record<string, Factors> {
  const tiers: Record<string, Factors> = {};
  for (const [name, suffix] of Object.entries(tierSuffixes)) {
    const factors = factorsIn(listed, suffix);
    if (factors !== null) tiers[name] = factors;
  }
  // OpenAI's fast tier was called priority before.
  if ((providerId === "openai" || providerId === "azure") && tiers["priority"] !== undefined)
    tiers["fast"] = tiers["priority"];
  const fast = specificRate(listed, "fast");
  if (fast !== null) tiers["fast"] = evenFactors(fast);
  return tiers;
}

function specificRate(entry: ListedModel, name: string): number | null {
  const providerEntry = entry["provider_specific_entry"];
  return typeof providerEntry === "object" && providerEntry !== null
    ? amount(providerEntry as ListedModel, name)
    : null;
}

function evenFactors(times: number): Factors {
  const factor = Math.round(times * 1000);
  return { input: factor, output: factor, cachedInput: factor, cacheWrite: factor };
}

/** Published prices are per hour: the map has them per second, rounded. */
function perSecond(usd: number): number {
  const hour = Math.round(usd * 3600 * 1000) / 1000;
  return pico(Math.abs(hour - usd * 3600) <= hour / 1000 ? hour / 3600 : usd);
}

/** Providers that bill searches per search, whatever the model's tokens cost. */
const searching = new Set(["openai", "azure", "anthropic"]);

function unitsOf({ providerId, listed }: Id): Partial<Record<UnitName, number>> {
  const units: Partial<Record<UnitName, number>> = {};
  const searches = listed["search_context_cost_per_query"];
  const search =
    typeof searches === "object" && searches !== null && searching.has(providerId)
      ? amount(searches as ListedModel, "search_context_size_medium")
      : null;
  if (search !== null) units.webSearches = pico(search);
  if (isPerToken({ listed })) return units;
  const unit = (key: string, mode: string): number =>
    listed["mode"] === mode ? (amount(listed, key) ?? 0) : 0;
  const seconds = unit("input_cost_per_second", "audio_transcription");
  if (seconds > 0) units.audioMs = perSecond(seconds);
  const toolPrices: readonly (readonly [UnitName, number])[] = [
    ["characters", unit("input_cost_per_character", "audio_speech")],
    ["images", unit("output_cost_per_image", "image_generation")],
    ["pages", unit("ocr_cost_per_page", "ocr")],
    ["searchUnits", unit("input_cost_per_query", "rerank")],
  ];
  for (const [name, usd] of toolPrices) if (usd > 0) units[name] = pico(usd);
  return units;
}

/** Null without a price in the list; a price of 0 counts only for moderations. */
export function convert(id: Id): FiledPrice | null {
  const { listed, providerId, model } = id;
  const units = unitsOf(id);
  const perToken = isPerToken(id);
  const isFree = listed["mode"] === "moderation" && listed["input_cost_per_token"] === 0;
  const kinds = ratesOf(listed).kinds ?? {};
  if (!perToken && !isFree && Object.keys({ ...units, ...kinds }).length === 0) return null;
  const nothing: TokenRates = { input: null, output: null, cachedInput: null, cacheWrite: null };
  const us = specificRate(listed, "us");
  const contextTokens = amount(listed, "max_input_tokens");
  return {
    rates: perToken || isFree || Object.keys(kinds).length > 0 ? ratesOf(listed) : nothing,
    tiers: tiersOf(listed) ?? [],
    perUnit: perToken ? { ...vendorUnits({ providerId, model }), ...units } : units,
    serviceTiers: { ...vendorTiers({ providerId, model }), ...serviceTiersOf(id) },
    regions: us === null ? {} : { us: evenFactors(us) },
    ...(contextTokens === null || contextTokens === 0 ? {} : { contextTokens }),
  };
}

interface PriceSources {
  readonly map: PriceMap;
  readonly date: string;
  readonly lists: readonly string[];
  /** The list that fills the gaps of a price. */
  readonly fallback: Pick<PriceList, "price">;
}

export function makePriceFile({ map, date, lists, fallback }: PriceSources): PriceFile {
  const pages: string[] = [];
  const byProvider: Record<string, Record<string, FiledPrice>> = {};
  for (const id of currentIds(map, date)) {
    const providerPrices = byProvider[id.providerId] ?? {};
    byProvider[id.providerId] = providerPrices;
    if (providerPrices[id.model] !== undefined) continue;
    const price = convert(id);
    if (price === null) continue;
    const page = id.listed["source"];
    if (typeof page === "string" && !pages.includes(page)) pages.push(page);
    const filled = fill(price, fallback.price(id.providerId, id.model, Date.parse(date)));
    providerPrices[id.model] = {
      ...withoutEmptyFields(filled),
      ...(typeof page === "string" ? { page: pages.indexOf(page) } : {}),
    };
  }
  return { date, lists, pages, providers: byProvider };
}

function fill(price: FiledPrice, fallback: ReturnType<PriceList["price"]>): FiledPrice {
  if (fallback === null) return price;
  const { rates } = price;
  const kinds = { ...rates.kinds };
  // LiteLLM's list repeats the rate of text as the rate of audio for some transcribing models.
  if (kinds.audioInput === rates.input && fallback.rates.kinds?.audioInput !== undefined)
    kinds.audioInput = fallback.rates.kinds.audioInput;
  return {
    ...price,
    rates: {
      ...rates,
      kinds,
      output: rates.output ?? fallback.rates.output,
      cachedInput:
        rates.cachedInput ??
        (rates.input === fallback.rates.input ? fallback.rates.cachedInput : null),
    },
    perUnit: { ...fallback.perUnit, ...price.perUnit },
  };
}

/** Removes empty fields. */
function withoutEmptyFields(price: FiledPrice): FiledPrice {
  return JSON.parse(
    JSON.stringify(price, (_, value: unknown) =>
      typeof value === "object" && value !== null && Object.keys(value).length === 0
        ? undefined
        : value,
    ),
  ) as FiledPrice;
}

/** One model per line. */
export function printPriceFile({ providers: pricesByProvider, ...rest }: PriceFile): string {
  const { date, lists, pages } = rest;
  const block = (
    name: string,
    lines: readonly string[],
    [open, close]: readonly [string, string],
  ) => `${JSON.stringify(name)}: ${open}\n${lines.join(",\n")}\n${close}`;
  const byProvider = Object.keys(pricesByProvider)
    .sort()
    .map((name) =>
      block(
        name,
        Object.keys(pricesByProvider[name]!)
          .sort()
          .map(
            (model) =>
              `${JSON.stringify(model)}: ${JSON.stringify(pricesByProvider[name]![model])}`,
          ),
        ["{", "}"],
      ),
    );
  return `{
"date": ${JSON.stringify(date)},
${block(
  "lists",
  lists.map((list) => JSON.stringify(list)),
  ["[", "]"],
)},
${block(
  "pages",
  pages.map((page) => JSON.stringify(page)),
  ["[", "]"],
)},
${block("providers", byProvider, ["{", "}"])}
}
`;
}
