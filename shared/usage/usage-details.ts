/**
 * The details of a response's usage beside its tokens: parts of them with their own prices, the
 * service tier, and calls priced individually. A table: the wire, the store, the sums and the
 * exports use it in its order. New rows are appended.
 */
import { tokensPerResponseMax } from "../bounds.js";
import { isCount } from "../checked.js";

/** Searches that one response may report: a larger number is invalid and isn't charged. */
export const callsPerResponseMax = 100_000;

/** Token details are part of the count named in their comment. */
export const detailNames = [
  /** Of the tokens written to a cache: those with a lifetime of an hour. */
  "cacheWrite1hTokens",
  /** Of the input. */
  "audioInputTokens",
  /** Of the audio input: read from a cache. */
  "cachedAudioInputTokens",
  /** Of the input. */
  "imageInputTokens",
  /** Of the image input: read from a cache. */
  "cachedImageInputTokens",
  /** Of the output. */
  "reasoningTokens",
  /** Of the output. */
  "audioOutputTokens",
  /** Of the output. */
  "imageOutputTokens",
  /** Searches of the web that the provider made. */
  "webSearches",
  /** Searches in files that the provider keeps. */
  "fileSearches",
] as const;
export type DetailName = (typeof detailNames)[number];
type DetailCounts = Readonly<Record<DetailName, number>>;

/** Their names in reports and exports. */
export const detailFields = {
  cacheWrite1hTokens: "cache_write_1h_input_tokens",
  audioInputTokens: "audio_input_tokens",
  cachedAudioInputTokens: "cached_audio_input_tokens",
  imageInputTokens: "image_input_tokens",
  cachedImageInputTokens: "cached_image_input_tokens",
  reasoningTokens: "reasoning_tokens",
  audioOutputTokens: "audio_output_tokens",
  imageOutputTokens: "image_output_tokens",
  webSearches: "web_searches",
  fileSearches: "file_searches",
} as const satisfies Readonly<Record<DetailName, string>>;
export type DetailField = (typeof detailFields)[DetailName];

/** Counts by their names in reports and exports. */
export function fieldsOfDetails(counts: DetailCounts): Readonly<Record<DetailField, number>> {
  return Object.fromEntries(
    detailNames.map((name) => [detailFields[name], counts[name]]),
  ) as Record<DetailField, number>;
}

/** Names of service tiers, independent of the provider's. */
export const serviceTiers = [
  "standard",
  "flex",
  "priority",
  "batch",
  "scale",
  "fast",
  "offpeak",
  "provisioned",
] as const;
export type ServiceTier = (typeof serviceTiers)[number];

export interface UsageDetails {
  /** Null if the provider doesn't report it. */
  readonly serviceTier: ServiceTier | null;
  readonly counts: DetailCounts;
}

/** The maximum of a detail. */
export function detailMax(name: DetailName): number {
  return name === "webSearches" || name === "fileSearches"
    ? callsPerResponseMax
    : tokensPerResponseMax;
}

export const noDetailCounts = Object.fromEntries(
  detailNames.map((name) => [name, 0]),
) as DetailCounts;

/** Null if there are no details. */
export function detailsOf(
  serviceTier: ServiceTier | null,
  counts: Partial<DetailCounts>,
): UsageDetails | null {
  if (serviceTier === null && !detailNames.some((name) => (counts[name] ?? 0) > 0)) return null;
  return { serviceTier, counts: { ...noDetailCounts, ...counts } };
}

/** The details of two parts of one request, with the tier of the later part. */
export function addedDetails(a: UsageDetails | null, b: UsageDetails | null): UsageDetails | null {
  if (a === null || b === null) return a ?? b;
  const counts: Partial<Record<DetailName, number>> = {};
  for (const name of detailNames) counts[name] = a.counts[name] + b.counts[name];
  return { serviceTier: b.serviceTier ?? a.serviceTier, counts: counts as DetailCounts };
}

/** The counts, for sums; null if all are 0. */
export function countsIn(details: UsageDetails | null): Record<DetailName, number> | null {
  if (details === null || details.counts === noDetailCounts) return null;
  if (detailNames.every((name) => details.counts[name] === 0)) return null;
  return { ...details.counts };
}

/**
 * An array for the wire and the store: the tier and the counts in order, up to the last count that
 * isn't 0, or `[]`.
 */
export function detailsToFlat(details: UsageDetails | null): (string | number | null)[] {
  if (details === null) return [];
  if (details.counts === noDetailCounts) return [details.serviceTier];
  const flat = [details.serviceTier, ...detailNames.map((name) => details.counts[name])];
  while (flat.at(-1) === 0) flat.pop();
  return flat;
}

/**
 * Undefined for anything that `detailsToFlat` doesn't produce. Rows that an earlier release lacks
 * are 0; additional rows and tiers of a later one are ignored.
 */
export function detailsFromFlat(flat: unknown): UsageDetails | null | undefined {
  if (!Array.isArray(flat)) return undefined;
  if (flat.length === 0) return null;
  const [tier, ...values] = flat as readonly unknown[];
  if (tier !== null && typeof tier !== "string") return undefined;
  const counts: Partial<Record<DetailName, number>> = {};
  for (const [i, name] of detailNames.entries()) {
    const value = values[i] ?? 0;
    if (typeof value !== "number") return undefined;
    counts[name] = value;
  }
  return {
    serviceTier: serviceTiers.find((known) => known === tier) ?? null,
    counts: counts as DetailCounts,
  };
}

/** The name of the first detail with an invalid value, or null. */
export function flawOfDetails(details: UsageDetails | null): DetailName | null {
  if (details === null) return null;
  return detailNames.find((name) => !isDetail(name, details.counts[name])) ?? null;
}

/** Whether a value from outside is valid for this detail. */
function isDetail(name: DetailName, value: unknown): value is number {
  return isCount(value) && value <= detailMax(name);
}

/** Sluice's name for a tier; null if unknown. */
export function serviceTierOf(raw: unknown): ServiceTier | null {
  if (typeof raw !== "string") return null;
  return tierNames.get(raw) ?? tierNames.get(raw.toLowerCase()) ?? null;
}

const tierNames: ReadonlyMap<string, ServiceTier> = new Map([
  ...serviceTiers.map((tier) => [tier, tier] as const),
  // OpenAI; Groq; Gemini on Vertex.
  ["default", "standard"],
  ["on_demand", "standard"],
  ["on_demand_priority", "priority"],
  ["on_demand_flex", "flex"],
  ["on_demand_offpeak", "offpeak"],
  ["provisioned_throughput", "provisioned"],
]);
