/**
 * The price list that comes with `@pydantic/genai-prices`: data in the package, nothing is
 * downloaded. This file alone knows the package; it turns its prices into ours.
 *
 * It is loaded when a configured provider may be in it, and not otherwise: it takes some 25 ms and
 * 6 MB.
 */
import type { ModelPrice } from "@pydantic/genai-prices";
import { findPreset } from "../../shared/config/presets.js";
import {
  type Price,
  rateFromUsdPerMillion,
  type TokenKind,
  type TokenRates,
  tokenKinds,
  type UnitName,
} from "../../shared/domain/price.js";
import { factorsOf, free, type Named, publishedPrice, publishedUnits } from "./published-prices.js";

export interface PriceList {
  /**
   * The list's name for the provider at this address or, where a relay stands in between, with this
   * instance name; null when it knows neither.
   */
  providerId(baseUrl: string, name: string): string | null;
  /** A model's price at a time, or null. Takes up to a tenth of a millisecond: cache it. */
  price(providerId: string, model: string, nowMs: number): Price | null;
  /** A model's context window; null if unknown. Takes as long. */
  contextTokens(providerId: string, model: string): number | null;
}

export async function loadPriceList(): Promise<PriceList> {
  const { calcPrice, findProvider } = await import("@pydantic/genai-prices");
  return {
    providerId(baseUrl, name) {
      const byUrl = findProvider({ providerApiUrl: baseUrl });
      if (byUrl !== undefined) return byUrl.id;
      const wanted = findPreset(name)?.priceListName ?? name;
      // The package also takes names that merely contain a provider's: `my-openai-mock` is not
      // OpenAI.
      return findProvider({ providerId: wanted })?.id === wanted ? wanted : null;
    },
    price(providerId, model, nowMs) {
      try {
        const found = calcPrice({}, listedModel(providerId, model), {
          providerId,
          timestamp: new Date(nowMs),
        });
        return found === null
          ? (publishedPrice(providerId, model) ?? null)
          : withPublished(readPrice(found.model_price, { providerId, model }), providerId, model);
      } catch {
        // The package throws for prices that it finds inconsistent: the model counts as unpriced.
        return null;
      }
    },
    contextTokens(providerId, model) {
      try {
        const found = calcPrice({}, listedModel(providerId, model), { providerId });
        return found?.model.context_window ?? null;
      } catch {
        // As for its price.
        return null;
      }
    },
  };
}

/** The list's price with what only providers' pages have. */
function withPublished(price: Price | null, providerId: string, model: string): Price | null {
  if (price === null) return publishedPrice(providerId, model);
  const perUnit = publishedUnits({ providerId, model });
  return perUnit === null ? price : { ...price, perUnit: { ...price.perUnit, ...perUnit } };
}

/**
 * Vertex AI names Google's models with their publisher, the list without. Bedrock's newer address
 * ("Mantle") names OpenAI's open models without the version that the list has, at the same price.
 */
function listedModel(providerId: string, model: string): string {
  if (providerId === "google") return model.replace(/^google\//, "");
  return providerId === "aws" ? model.replace(/^openai\.gpt-oss-(?:20b|120b)$/, "$&-1:0") : model;
}

/**
 * Null without any price. A listed model without one is free, as moderations are.
 */
function readPrice(listed: ModelPrice, { providerId, model }: Named): Price | null {
  const rates = ratesAt(listed, 0);
  const names = Object.keys(listed);
  const hours = listed["audio_hours"] ?? listed["input_audio_hours"];
  if (rates.input === null && typeof hours !== "number" && names.length > 0) return null;
  if (names.length === 0) return free;
  const starts = [...mainKeys, ...Object.values(kindKeys)].flatMap((key) => {
    const value = listed[key];
    return typeof value === "object" ? value.tiers.map(({ start }) => start) : [];
  });
  const fee = (key: string): number | undefined => {
    const perThousand = listed[key];
    return typeof perThousand === "number" ? Math.round(perThousand * 1e9) : undefined;
  };
  const units: readonly (readonly [UnitName, number | undefined])[] = [
    ["webSearches", fee("web_searches_kcount")],
    ["fileSearches", fee("storage_searches_kcount")],
    ["audioMs", typeof hours === "number" ? Math.round((hours * 1e12) / 3600) : undefined],
  ];
  return {
    rates,
    tiers: [...new Set(starts)]
      .sort((a, b) => a - b)
      .map((start) => ({ aboveInputTokens: above(start), rates: ratesAt(listed, start + 1) })),
    perRequest: fee("requests_kcount") ?? 0,
    perUnit: Object.fromEntries(units.filter(([, rate]) => rate !== undefined)),
    ...factorsOf({ providerId, model }),
  };
}

/**
 * The list begins OpenAI's tier for long input at 271,999, but its price holds above 272,000.
 */
function above(start: number): number {
  return start % 1000 === 999 ? start + 1 : start;
}

const mainKeys = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"];
/** The list's name for each kind of tokens that a model may price apart. */
const kindKeys: Readonly<Record<TokenKind, string>> = {
  cacheWrite1h: "cache_write_1h_mtok",
  audioInput: "input_audio_mtok",
  cachedAudioInput: "cache_audio_read_mtok",
  imageInput: "input_image_mtok",
  cachedImageInput: "cache_image_read_mtok",
  reasoning: "output_reasoning_mtok",
  audioOutput: "output_audio_mtok",
  imageOutput: "output_image_mtok",
};

/** Of the tiers that are reached the highest counts, in whatever order they are listed. */
export function usdAt(
  { base, tiers }: { readonly base: number; readonly tiers: readonly ListedTier[] },
  inputTokens: number,
): number {
  let reached: ListedTier = { start: -1, price: base };
  for (const tier of tiers)
    if (inputTokens > tier.start && tier.start > reached.start) reached = tier;
  return reached.price;
}

interface ListedTier {
  readonly start: number;
  readonly price: number;
}

function ratesAt(listed: ModelPrice, inputTokens: number): TokenRates {
  const rate = (key: string): number | null => {
    const value = listed[key];
    if (value === undefined) return null;
    const usd = typeof value === "number" ? value : usdAt(value, inputTokens);
    // A few cache writes cost a twelfth of a dollar: the list's endless fraction is cut to six
    // decimals.
    return rateFromUsdPerMillion(Math.round(usd * 1e6) / 1e6) ?? null;
  };
  const kinds: Partial<Record<TokenKind, number>> = {};
  for (const kind of tokenKinds) {
    const own = rate(kindKeys[kind]);
    if (own !== null) kinds[kind] = own;
  }
  return {
    input: rate("input_mtok"),
    output: rate("output_mtok"),
    cachedInput: rate("cache_read_mtok"),
    cacheWrite: rate("cache_write_mtok"),
    kinds,
  };
}
