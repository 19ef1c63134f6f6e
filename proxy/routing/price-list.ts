/**
 * The price list that comes with `@pydantic/genai-prices`: data in the package, nothing is
 * downloaded. This file alone knows the package; it turns its prices into ours.
 *
 * It is loaded when a configured provider may be in it, and not otherwise: it takes some 25 ms and
 * 6 MB.
 */
import type { ModelPrice } from "@pydantic/genai-prices";
import { type Price, rateFromUsdPerMillion, type TokenRates } from "../../shared/domain/price.js";

export interface PriceList {
  /**
   * The list's name for the provider at this address or, where a relay stands in between, with this
   * instance name; null when it knows neither.
   */
  providerId(baseUrl: string, name: string): string | null;
  /** A model's price at a time, or null. Takes up to a tenth of a millisecond: cache it. */
  price(providerId: string, model: string, nowMs: number): Price | null;
}

/** Instance names of our presets that have another name in the list. */
const listNames: ReadonlyMap<string, string> = new Map([
  ["gemini", "google"],
  ["xai", "x-ai"],
  ["moonshot", "moonshotai"],
]);

export async function loadPriceList(): Promise<PriceList> {
  const { calcPrice, findProvider } = await import("@pydantic/genai-prices");
  return {
    providerId(baseUrl, name) {
      const byUrl = baseUrl === "" ? undefined : findProvider({ providerApiUrl: baseUrl });
      if (byUrl !== undefined) return byUrl.id;
      const wanted = listNames.get(name) ?? name;
      // The package also takes names that merely contain a provider's: `my-openai-mock` is not
      // OpenAI.
      return findProvider({ providerId: wanted })?.id === wanted ? wanted : null;
    },
    price(providerId, model, nowMs) {
      try {
        const found = calcPrice({}, model, { providerId, timestamp: new Date(nowMs) });
        return found === null ? null : readPrice(found.model_price);
      } catch {
        // The package throws for prices that it finds inconsistent: the model counts as unpriced.
        return null;
      }
    },
  };
}

/**
 * Null without a rate for input: such models are sold by the second or the image, which aren't in
 * the usage.
 */
function readPrice(listed: ModelPrice): Price | null {
  const rates = ratesAt(listed, 0);
  if (rates.input === null) return null;
  const starts = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"].flatMap(
    (key) => {
      const value = listed[key];
      return typeof value === "object" ? value.tiers.map(({ start }) => start) : [];
    },
  );
  const perThousand = listed["requests_kcount"];
  return {
    rates,
    tiers: [...new Set(starts)]
      .sort((a, b) => a - b)
      .map((start) => ({ aboveInputTokens: start, rates: ratesAt(listed, start + 1) })),
    perRequest: typeof perThousand === "number" ? Math.round(perThousand * 1e9) : 0,
  };
}

function ratesAt(listed: ModelPrice, inputTokens: number): TokenRates {
  const rate = (key: string): number | null => {
    const value = listed[key];
    if (value === undefined) return null;
    let usd = typeof value === "number" ? value : value.base;
    if (typeof value === "object")
      for (const tier of [...value.tiers].sort((a, b) => a.start - b.start))
        if (inputTokens > tier.start) usd = tier.price;
    // A few cache writes cost a twelfth of a dollar: the list's endless fraction is cut to six
    // decimals.
    return rateFromUsdPerMillion(Math.round(usd * 1e6) / 1e6) ?? null;
  };
  return {
    input: rate("input_mtok"),
    output: rate("output_mtok"),
    cachedInput: rate("cache_read_mtok"),
    cacheWrite: rate("cache_write_mtok"),
  };
}
