/**
 * Prices from the vendors' own pages, written by hand because no list has them: batches and speeds
 * of older models, units other than tokens, and models that are free or sold per picture. Each row
 * has its source; names of providers are those of the lists.
 */
import {
  evenFactors,
  type Factors,
  type Price,
  priceScales,
  type TokenRates,
  type UnitName,
} from "../../shared/domain/price.js";

export interface VendorModel {
  readonly providerId: string;
  readonly model: string;
}

const noRates: TokenRates = { input: null, output: null, cachedInput: null, cacheWrite: null };

/** A price of 0 for everything. */
export const free: Price = {
  rates: { input: 0, output: 0, cachedInput: 0, cacheWrite: 0 },
  tiers: [],
  perRequest: 0,
};

type Row<T> = readonly [providerId: string, model: RegExp, value: T];

function find<T>(rows: readonly Row<T>[], { providerId, model }: VendorModel): T | null {
  return rows.find(([id, name]) => id === providerId && name.test(model))?.[2] ?? null;
}

type Tiers = Readonly<Record<string, Factors>>;
const half: Tiers = { batch: evenFactors(500) };

const serviceTiers: readonly Row<Tiers>[] = [
  // openrouter.ai/anthropic/claude-opus-4.6-fast, openrouter.ai/anthropic/claude-opus-4.7-fast
  ["anthropic", /opus-4-[67]/, { ...half, fast: evenFactors(6000) }],
  // platform.claude.com/docs/en/build-with-claude/batch-processing
  ["anthropic", /^/, half],
  // console.groq.com/docs/batch
  ["groq", /^/, half],
  // docs.mistral.ai/capabilities/batch
  ["mistral", /^/, half],
  // developers.openai.com/api/docs/pricing
  ["openai", /^/, half],
  ["azure", /^/, half],
  // ai.google.dev/gemini-api/docs/batch-api
  ["google", /^/, half],
];

/** The factors of a model by tier. */
export function vendorTiers({ providerId, model }: VendorModel): Tiers {
  return find(serviceTiers, { providerId, model: model.replace(/^.*\//, "") }) ?? {};
}

const usd = (amount: number): number => Math.round(amount * priceScales.usd);

/** Prices of units, for models that are also sold by the token. */
const units: readonly Row<Readonly<Partial<Record<UnitName, number>>>>[] = [
  // ai.google.dev/gemini-api/docs/pricing: by the query from Gemini 3 on, by the grounded prompt
  // before.
  ["google", /gemini-(?:[3-9]|\d\d)/, { webSearches: usd(0.014), mapsSearches: usd(0.014) }],
  ["google", /gemini/, { searchedRequests: usd(0.035), mapsSearches: usd(0.025) }],
  // developers.openai.com/api/docs/pricing, azure.microsoft.com/pricing/details/cognitive-services
  ["openai", /^(?:gpt-|o\d|codex|computer)/, { containers: usd(0.03) }],
  ["azure", /^(?:gpt-|o\d|codex|computer)/, { containers: usd(0.033) }],
];

export function vendorUnits(
  model: VendorModel,
): Readonly<Partial<Record<UnitName, number>>> | null {
  return find(units, model);
}

/** The length of sound that a provider bills at least, in milliseconds. */
export function vendorMinimum(providerId: string): number {
  // console.groq.com/docs/speech-to-text
  return providerId === "groq" ? 10_000 : 0;
}

/**
 * The factor, in thousandths, by which Bedrock's geographic inference profiles (`us.…`) cost more
 * than the model itself: aws.amazon.com/bedrock/pricing, for Claude from 4.5 on.
 */
export function geographicFactor(model: string): number {
  return /^anthropic\.claude-(?:(?:opus|sonnet|haiku)-(?:4-[5-9]|[5-9]|\d\d)|fable|mythos)/.test(
    model,
  )
    ? 1100
    : 1000;
}

function soldBy(perUnit: Price["perUnit"], perImage: Price["perImage"] = {}): Price {
  return { rates: noRates, tiers: [], perRequest: 0, perUnit: perUnit ?? {}, perImage };
}

const fable52: Price = {
  rates: {
    input: 8_000_000,
    output: 40_000_000,
    cachedInput: 200_000,
    cacheWrite: 10_000_000,
    kinds: { cacheWrite1h: 16_000_000 },
  },
  tiers: [],
  perRequest: 0,
  perUnit: { webSearches: usd(0.01) },
  serviceTiers: { ...half, fast: evenFactors(2000) },
  regions: { us: evenFactors(1100) },
};

/** Models newer than the lists, models that aren't sold by the token, and free ones. */
const prices: readonly Row<Price>[] = [
  // platform.claude.com/docs/en/about-claude/pricing
  ["anthropic", /^claude-(?:fable|mythos)-5-2(?:-\d{8})?$/, fable52],
  // developers.openai.com/api/docs/guides/moderation
  ["openai", /^(?:omni|text)-moderation/, free],
  ["azure", /^(?:omni|text)-moderation/, free],
  // openrouter.ai/docs/faq
  ["openrouter", /:free$/, free],
  ["openrouter", /^openrouter\/free$/, free],
  // platform.openai.com/docs/pricing
  ...(["openai", "azure"] as const).flatMap((id): Row<Price>[] => [
    [
      id,
      /^dall-e-3/,
      soldBy(
        { images: usd(0.04) },
        {
          "standard/1024x1792": usd(0.08),
          "standard/1792x1024": usd(0.08),
          "1024x1792": usd(0.08),
          "1792x1024": usd(0.08),
          "hd/1024x1792": usd(0.12),
          "hd/1792x1024": usd(0.12),
          hd: usd(0.08),
        },
      ),
    ],
    [
      id,
      /^dall-e-2/,
      soldBy({ images: usd(0.02) }, { "512x512": usd(0.018), "256x256": usd(0.016) }),
    ],
  ]),
];

/** Null for a model that isn't here. */
export function vendorPrice(providerId: string, model: string): Price | null {
  return find(prices, { providerId, model });
}
