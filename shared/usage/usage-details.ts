/**
 * The details of a response's usage beside its tokens: parts of them with their own prices, the
 * service tier, and calls priced individually. A table: the wire, the store, the sums and the
 * exports use it in its order. New rows are appended.
 */
import { tokensPerResponseMax } from "../bounds.js";
import { isCount } from "../checked.js";

/** Calls that one response may report: a larger number is invalid and isn't charged. */
export const callsPerResponseMax = 100_000;
/** The maximum of milliseconds of sound, a day, and of characters. */
export const measurePerResponseMax = 86_400_000;

/** Token details are part of the count named in their comment. */
export const detailNames = [
  /** The part of the tokens written to a cache that is kept for an hour. */
  "cacheWrite1hTokens",
  /** Part of the input. */
  "audioInputTokens",
  /** The part of the audio input that was read from a cache. */
  "cachedAudioInputTokens",
  /** Part of the input. */
  "imageInputTokens",
  /** The part of the image input that was read from a cache. */
  "cachedImageInputTokens",
  /** Part of the output. */
  "reasoningTokens",
  /** Part of the output. */
  "audioOutputTokens",
  /** Part of the output. */
  "imageOutputTokens",
  /** Searches of the web that the provider made. */
  "webSearches",
  /** Searches in files that the provider keeps. */
  "fileSearches",
  /** Searches of maps that the provider made. */
  "mapsSearches",
  /** A reranker's units. */
  "searchUnits",
  /** Sound that was transcribed, or that a model heard, in milliseconds. */
  "audioMs",
  /** Characters that were spoken. */
  "characters",
  /** Pictures that were made. */
  "images",
  /** Containers that ran code, once for each GB of their memory. */
  "containers",
  /** Pages of documents that were read. */
  "pages",
  /** The part of the tokens written to a cache that is kept for twelve hours. */
  "cacheWrite12hTokens",
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
  mapsSearches: "maps_searches",
  searchUnits: "search_units",
  audioMs: "audio_ms",
  characters: "characters",
  images: "images",
  containers: "containers",
  pages: "pages",
  cacheWrite12hTokens: "cache_write_12h_input_tokens",
} as const satisfies Readonly<Record<DetailName, string>>;
export type DetailField = (typeof detailFields)[DetailName];

/** Counts by their names in reports and exports. */
export function fieldsOfDetails(counts: DetailCounts): Readonly<Record<DetailField, number>> {
  return Object.fromEntries(
    detailNames.map((name) => [detailFields[name], counts[name]]),
  ) as Record<DetailField, number>;
}

export interface UsageDetails {
  /**
   * The provider's name for it, in lower case, with one name for what several providers have:
   * `standard`, `flex`, `priority`, `batch`, `offpeak`, `provisioned`. Null if it isn't reported.
   */
  readonly serviceTier: string | null;
  /** Where the provider ran the model, such as `us`; null if it isn't reported. */
  readonly region: string | null;
  readonly counts: DetailCounts;
}

const calls: ReadonlySet<DetailName> = new Set<DetailName>([
  "webSearches",
  "fileSearches",
  "mapsSearches",
  "searchUnits",
  "images",
  "containers",
  "pages",
]);

/** The maximum of a detail. */
export function detailMax(name: DetailName): number {
  if (name === "audioMs" || name === "characters") return measurePerResponseMax;
  return calls.has(name) ? callsPerResponseMax : tokensPerResponseMax;
}

export const noDetailCounts = Object.fromEntries(
  detailNames.map((name) => [name, 0]),
) as DetailCounts;

/** Null if there are no details. */
export function detailsOf(
  serviceTier: string | null,
  counts: Partial<DetailCounts>,
  region: string | null = null,
): UsageDetails | null {
  const isEmpty = !detailNames.some((name) => (counts[name] ?? 0) > 0);
  if (serviceTier === null && region === null && isEmpty) return null;
  return { serviceTier, region, counts: { ...noDetailCounts, ...counts } };
}

/** The details of two parts of one request, with the tier and region of the later part. */
export function addedDetails(a: UsageDetails | null, b: UsageDetails | null): UsageDetails | null {
  if (a === null || b === null) return a ?? b;
  const counts: Partial<Record<DetailName, number>> = {};
  for (const name of detailNames) counts[name] = a.counts[name] + b.counts[name];
  return {
    serviceTier: b.serviceTier ?? a.serviceTier,
    region: b.region ?? a.region,
    counts: counts as DetailCounts,
  };
}

/** The details of a record that cancels another. */
export function negatedDetails(details: UsageDetails | null): UsageDetails | null {
  if (details === null || details.counts === noDetailCounts) return details;
  const counts: Partial<Record<DetailName, number>> = {};
  for (const name of detailNames) counts[name] = 0 - details.counts[name];
  return { ...details, counts: counts as DetailCounts };
}

const tokenDetail = /Tokens$/;

/** Whether anything but tokens is counted, such as searches, which may have fees. */
export function hasUnits(details: UsageDetails | null): boolean {
  const counts = details?.counts ?? noDetailCounts;
  return detailNames.some((name) => counts[name] > 0 && !tokenDetail.test(name));
}

/** The counts, for sums; null if all are 0. */
export function countsIn(details: UsageDetails | null): Record<DetailName, number> | null {
  if (details === null || details.counts === noDetailCounts) return null;
  if (detailNames.every((name) => details.counts[name] === 0)) return null;
  return { ...details.counts };
}

/**
 * An array for the wire and the store: the tier, the region and the counts in order, up to the
 * last count that isn't 0, or `[]`.
 */
export function detailsToFlat(details: UsageDetails | null): (string | number | null)[] {
  if (details === null) return [];
  const { serviceTier, region, counts } = details;
  if (counts === noDetailCounts) return region === null ? [serviceTier] : [serviceTier, region];
  const flat = [serviceTier, region, ...detailNames.map((name) => counts[name])];
  while (flat.at(-1) === 0) flat.pop();
  return flat;
}

/** The tier and the region precede the counts. */
const labelsInFlat = 2;

/** Undefined for anything that `detailsToFlat` doesn't produce. */
export function detailsFromFlat(flat: unknown): UsageDetails | null | undefined {
  if (!Array.isArray(flat)) return undefined;
  if (flat.length === 0) return null;
  const [serviceTier, region = null] = flat as readonly unknown[];
  if (!isTextOrNull(serviceTier) || !isTextOrNull(region)) return undefined;
  if (flat.length <= labelsInFlat) return { serviceTier, region, counts: noDetailCounts };
  const counts: Partial<Record<DetailName, number>> = {};
  for (const [i, name] of detailNames.entries()) {
    const value: unknown = flat[labelsInFlat + i] ?? 0;
    if (typeof value !== "number") return undefined;
    counts[name] = value;
  }
  return { serviceTier, region, counts: counts as DetailCounts };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

/** The name of the first detail with an invalid value, or null. */
export function flawOfDetails(details: UsageDetails | null): string | null {
  if (details === null) return null;
  const { serviceTier, region, counts } = details;
  if (serviceTier !== null && !tierOrRegion.test(serviceTier)) return "serviceTier";
  if (region !== null && !tierOrRegion.test(region)) return "region";
  if (counts === noDetailCounts) return null;
  return detailNames.find((name) => !isDetail(name, counts[name])) ?? null;
}

/** Whether a value from outside is valid for this detail. */
function isDetail(name: DetailName, value: unknown): value is number {
  return isCount(value) && value <= detailMax(name);
}

const tierOrRegion = /^[a-z0-9][a-z0-9_.-]{0,31}$/;

/** A tier or a region as records have it; null for anything that is no name. */
export function labelOf(raw: unknown): string | null {
  if (typeof raw !== "string") return null;
  const name = raw.toLowerCase();
  return tierOrRegion.test(name) ? name : null;
}

/** A tier as records have it; null if there is none. */
export function serviceTierOf(raw: unknown): string | null {
  const knownName = tierNames.get(raw);
  if (knownName !== undefined) return knownName;
  const name = labelOf(raw);
  return name === null ? null : (tierNames.get(name) ?? (noTier.has(name) ? null : name));
}

const noTier: ReadonlySet<string> = new Set([
  "auto",
  "unspecified",
  "traffic_type_unspecified",
  "not_available",
]);
const tierNames: ReadonlyMap<unknown, string> = new Map([
  ["standard", "standard"],
  ["priority", "priority"],
  // OpenAI; Groq; Gemini on Vertex.
  ["default", "standard"],
  ["on_demand", "standard"],
  ["on_demand_priority", "priority"],
  ["on_demand_flex", "flex"],
  ["on_demand_offpeak", "offpeak"],
  ["provisioned_throughput", "provisioned"],
]);
