/**
 * What the price list lacks, from the providers' own pages: factors of service tiers, speeds and
 * regions, and prices of units that aren't tokens. Names are the list's for providers, and the
 * beginnings of models' ids.
 */
import {
  evenFactors,
  type Factors,
  type Price,
  type TokenRates,
  type UnitName,
} from "../../shared/domain/price.js";

export interface Named {
  readonly providerId: string;
  readonly model: string;
}

const noRates: TokenRates = { input: null, output: null, cachedInput: null, cacheWrite: null };

/** A price of 0 for all. */
export const free: Price = {
  rates: { input: 0, output: 0, cachedInput: 0, cacheWrite: 0 },
  tiers: [],
  perRequest: 0,
};

type Row<T> = readonly [providerId: string, model: RegExp, value: T];

function find<T>(rows: readonly Row<T>[], { providerId, model }: Named): T | null {
  return rows.find(([id, name]) => id === providerId && name.test(model))?.[2] ?? null;
}

const half = evenFactors(500);
/** Cached tokens of older Gemini models cost the same in all tiers. */
const halfUncached: Factors = { input: 500, cacheWrite: 500, output: 500, cachedInput: 1000 };

/** OpenAI's fast tier was called priority before. */
function fastFactors(factor: number): Readonly<Record<string, Factors>> {
  return { priority: evenFactors(factor), fast: evenFactors(factor) };
}

type Tiers = Readonly<Record<string, Factors>>;
const flexAndBatch: Tiers = { flex: half, batch: half };
const fast = (factor: number): Tiers => ({ ...flexAndBatch, ...fastFactors(factor) });

const ofOpenAi: readonly (readonly [RegExp, Tiers])[] = [
  [/^gpt-6(?:-astra|\.1-sol)/, { ...fast(2000), ultrafast: evenFactors(6000) }],
  [/^gpt-5\.5/, fast(2500)],
  [/^gpt-5-mini|codex-mini/, fast(1800)],
  [/^(?:gpt-[56]|codex|gpt-4\.1-nano)/, fast(2000)],
  [/^(?:gpt-4\.1|o3|gpt-4o-2024-05-13)/, fast(1750)],
  [/^gpt-4o-mini/, fast(1667)],
  [/^gpt-4o/, fast(1700)],
  [/^o4-mini/, fast(1818)],
  [/^/, flexAndBatch],
];

const serviceTiers: readonly Row<Tiers>[] = [
  ...ofOpenAi.map(([model, tiers]): Row<Tiers> => ["openai", model, tiers]),
  ...ofOpenAi.map(([model, tiers]): Row<Tiers> => ["azure", model, tiers]),
  [
    "google",
    /gemini-(?:2|3-|3\.1-pro)/,
    { flex: halfUncached, batch: halfUncached, priority: evenFactors(1800) },
  ],
  ["google", /^/, { flex: half, batch: half, priority: evenFactors(1800) }],
  ["anthropic", /opus-4-[67]/, { batch: half, fast: evenFactors(6000) }],
  ["anthropic", /^/, { batch: half, fast: evenFactors(2000) }],
  ["groq", /^/, { batch: half }],
  ["mistral", /^/, { batch: half }],
];

/** Anthropic charges a tenth more in the US, for Claude Opus 4.6 and later models. */
const regions: readonly Row<Readonly<Record<string, Factors>>>[] = [
  ["anthropic", /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5]\b|-2|@|$))/, {}],
  ["anthropic", /^claude/, { us: evenFactors(1100) }],
];

/** The factors of a model by tier and region. */
export function factorsOf(named: Named): Pick<Price, "serviceTiers" | "regions"> {
  const local = { ...named, model: named.model.replace(/^.*\//, "") };
  return { serviceTiers: find(serviceTiers, local) ?? {}, regions: find(regions, local) ?? {} };
}

const usd = (amount: number): number => Math.round(amount * 1e12);

/** Units of models that are also sold by the token. */
const units: readonly Row<Readonly<Partial<Record<UnitName, number>>>>[] = [
  // By the query from Gemini 3 on, by the grounded prompt before.
  ["google", /gemini-(?:[3-9]|\d\d)/, { webSearches: usd(0.014), mapsSearches: usd(0.014) }],
  ["google", /gemini/, { searchedRequests: usd(0.035), mapsSearches: usd(0.025) }],
  ["openai", /^(?:gpt-|o\d|codex|computer)/, { containers: usd(0.03) }],
  ["azure", /^(?:gpt-|o\d|codex|computer)/, { containers: usd(0.033) }],
];

export function publishedUnits(named: Named): Readonly<Partial<Record<UnitName, number>>> | null {
  return find(units, named);
}

function soldBy(perUnit: Price["perUnit"], perImage: Price["perImage"] = {}): Price {
  return { rates: noRates, tiers: [], perRequest: 0, perUnit: perUnit ?? {}, perImage };
}

/** Models that aren't sold by the token, and free ones. */
const prices: readonly Row<Price>[] = [
  ["openai", /^(?:omni|text)-moderation/, free],
  ["azure", /^(?:omni|text)-moderation/, free],
  ["openrouter", /:free$/, free],
  ["openrouter", /^openrouter\/free$/, free],
  ["mistral", /^mistral-ocr/, soldBy({ pages: usd(0.004) })],
  ...(["openai", "azure"] as const).flatMap((id): Row<Price>[] => [
    [id, /^whisper/, soldBy({ audioMs: usd(0.0001) })],
    [id, /^tts-1-hd/, soldBy({ characters: usd(0.00003) })],
    [id, /^tts-1/, soldBy({ characters: usd(0.000015) })],
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
  ["cohere", /rerank/, soldBy({ searchUnits: usd(0.002) })],
  ["groq", /^whisper-large-v3-turbo/, soldBy({ audioMs: Math.round(usd(0.04) / 3600) })],
  ["groq", /^whisper-large-v3/, soldBy({ audioMs: Math.round(usd(0.111) / 3600) })],
];

/** Null for a model that isn't here. */
export function publishedPrice(providerId: string, model: string): Price | null {
  return find(prices, { providerId, model });
}
