/**
 * Reads the token counts and the cost that an upstream reports. They come from outside and are
 * charged to limits and budgets, so each is checked: invalid ones are returned to the caller and
 * not charged.
 *
 * Providers split their tokens differently; `test/proxy/usage/reported-usage.ts` has a sample of
 * each form. The result has the same meaning for all of them.
 *
 * Details are cached and audio tokens, the service tier and others
 * (docs/reference/usage-record.md). An invalid detail counts as 0; one larger than its whole is cut
 * to it.
 *
 * Not here: finding the usage object (`find-usage.ts`), estimates (`count-usage.ts`), and prices.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isAbsent, isCount, isObject, show } from "../../shared/checked.js";
import { isPicoUsd, type PicoUsd, picoFromUsd } from "../../shared/domain/money.js";
import {
  callsPerResponseMax,
  labelOf,
  measurePerResponseMax,
  noDetailCounts,
  serviceTierOf,
  type UsageDetails,
} from "../../shared/usage/usage-details.js";
import { sumOfUsages, type Usage, type UsagePart } from "./usage.js";

export type UsageReading =
  | ({
      readonly kind: "usage";
      /** The provider reports only a total: all of it counts as input. */
      readonly isBareTotal?: true;
      /** What was corrected or ignored, for the log. */
      readonly note: string | null;
    } & Usage)
  | { readonly kind: "absent" }
  | { readonly kind: "invalid"; readonly reason: string };

type Fields = Readonly<Record<string, unknown>>;

/** Shared by every absent usage, so that a stream doesn't make an object for each chunk. */
export const absentUsage: UsageReading = { kind: "absent" };

/**
 * Reads a usage object. Valid counts stay unchanged; a missing or invalid count is the rest of the
 * total. A total above the sum of the parts means output that the parts leave out (reasoning, at
 * xAI and Gemini), or input if the provider counts its sound in seconds (Mistral); a total below
 * the sum is ignored. An invalid detail counts as 0, and a detail larger than the input is cut to
 * it; the note says so. Calls of other models are added.
 */
export function readUsage(usage: unknown): UsageReading {
  const uncommon = isObject(usage) ? uncommonFields(usage) : noFields;
  const reading = readWhole(usage, uncommon);
  if (reading.kind !== "usage" || uncommon === noFields) return reading;
  const parts = partsOf(usage as Fields, reading);
  return parts.length === 0 ? reading : withParts(reading, parts);
}

/** The fields in usages of OpenAI and Anthropic, which most other providers use as well. */
const commonFields: ReadonlySet<string> = new Set([
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_tokens_details",
  "completion_tokens_details",
  "input_tokens",
  "output_tokens",
  "input_tokens_details",
  "output_tokens_details",
  "cache_creation",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "service_tier",
  "inference_geo",
]);

const noFields: Fields = {};

/**
 * Where to look up uncommon fields: in the usage, or, if all of its fields are common, in
 * `noFields`. Some forty look-ups that find nothing cost more than this
 * loop, since usages have many hidden classes.
 */
function uncommonFields(usage: Fields): Fields {
  for (const name in usage) if (!commonFields.has(name)) return usage;
  return noFields;
}

function readWhole(usage: unknown, uncommon: Fields): UsageReading {
  if (usage === undefined || usage === null) return absentUsage;
  if (!isObject(usage)) return invalid("usage", usage);
  const hasInputTokens = isAbsent(usage["prompt_tokens"]) && !isAbsent(usage["input_tokens"]);
  const rawInput = hasInputTokens
    ? usage["input_tokens"]
    : (usage["prompt_tokens"] ?? inputElsewhere(uncommon));
  const rawOutput =
    usage["completion_tokens"] ?? usage["output_tokens"] ?? outputElsewhere(uncommon);
  const rawTotal = usage["total_tokens"] ?? uncommon["totalTokenCount"] ?? uncommon["totalTokens"];
  if (isAbsent(rawInput) && isAbsent(rawOutput) && isAbsent(rawTotal)) return readUnits(usage);
  const notes: string[] = [];
  const details = readDetails(usage, uncommon, notes);
  // Anthropic counts tokens read from and written to its cache beside the input, all others within
  // it.
  const besideInput =
    (hasInputTokens || !isAbsent(uncommon["inputTokens"])) && details.areBesideInput
      ? details.cached + details.written
      : 0;
  const soundTokens = undetailedSoundTokens(uncommon, rawInput, rawOutput, rawTotal);
  const counts = readCounts(rawInput, rawOutput, rawTotal, besideInput + soundTokens);
  if (typeof counts === "string") return { kind: "invalid", reason: counts };
  const { inputTokens, outputTokens, isBareTotal } = counts;
  const cachedInputTokens = Math.min(details.cached, inputTokens);
  const cacheWriteInputTokens = Math.min(details.written, inputTokens - cachedInputTokens);
  if (cachedInputTokens < details.cached || cacheWriteInputTokens < details.written) {
    const cachedText = `${details.cached} read, ${details.written} written`;
    notes.push(`cached tokens cut to the ${inputTokens} of the input: ${cachedText}`);
  }
  const counted = {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    soundTokens,
  };
  return {
    kind: "usage",
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reportedCost: readCost(uncommon, notes),
    details: readUsageDetails(usage, counted, uncommon),
    note: notes.length === 0 ? null : notes.join("; "),
    ...(isBareTotal ? { isBareTotal } : null),
  };
}

/** A usage without tokens: units only. */
function readUnits(usage: Fields): UsageReading {
  const notes: string[] = [];
  const details = readUsageDetails(usage, noTokens);
  const reportedCost = readCost(usage, notes);
  const hasUnits = details !== null && details.counts !== noDetailCounts;
  if (!hasUnits) return absentUsage;
  return {
    kind: "usage",
    ...noTokens,
    totalTokens: 0,
    reportedCost,
    details,
    note: notes.length === 0 ? null : notes.join("; "),
  };
}

const noTokens = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
} as const;

/** The most calls of models in one answer; more aren't read. */
const partsMax = 1000;

/**
 * The usage of other calls that the counts of the answer leave out: Anthropic's compactions and
 * advisors (`iterations`), and the image model behind OpenAI's tool (`tool_usage`). Groq's
 * `usage_breakdown` splits the counts by model. Anthropic's other iterations are within the counts,
 * or were declined and aren't billed.
 */
function partsOf(usage: Fields, whole: Usage): readonly UsagePart[] {
  const { iterations, tool_usage: tools, usage_breakdown: breakdown } = usage;
  if (iterations === undefined && tools === undefined && breakdown === undefined) return [];
  const parts: UsagePart[] = [];
  const add = (model: unknown, reported: unknown): void => {
    const wholeUsage = readWhole(
      reported,
      isObject(reported) ? uncommonFields(reported) : noFields,
    );
    if (wholeUsage.kind !== "usage" || parts.length >= partsMax) return;
    const { kind: _kind, note: _note, ...counts } = wholeUsage;
    parts.push({ model: typeof model === "string" && model !== "" ? model : null, usage: counts });
  };
  const models = objectOf(breakdown)["models"];
  if (Array.isArray(models)) {
    for (const entry of models as unknown[])
      if (isObject(entry)) add(entry["model"], entry["usage"]);
    const sum = parts.reduce((total, part) => total + part.usage.totalTokens, 0);
    return sum === whole.totalTokens ? parts : [];
  }
  let served: string | null = null;
  if (Array.isArray(iterations))
    for (const entry of iterations as unknown[]) {
      if (!isObject(entry)) continue;
      const { type, model } = entry;
      if (type === "compaction" || type === "advisor_message") add(model, withTierOf(usage, entry));
      else if (type === "fallback_message" && typeof model === "string") served = model;
    }
  const images = objectOf(tools)["image_gen"];
  if (isObject(images))
    add(usage["image_model"] ?? imageToolModel, {
      output_tokens_details: { image_tokens: images["output_tokens"] },
      ...images,
    });
  if (parts.length === 0 && served === null) return [];
  const {
    kind: _kind,
    note: _note,
    ...ownUsage
  } = whole as Usage & { kind?: string; note?: unknown };
  return [{ model: served, usage: ownUsage }, ...parts];
}

/** The model of OpenAI's tool for images if the answer doesn't name one. */
const imageToolModel = "gpt-image-1";

/** Adds the answer's speed, tier and region, which apply to all of its iterations. */
function withTierOf({ service_tier, speed, inference_geo }: Fields, entry: Fields): Fields {
  return { service_tier, speed, inference_geo, ...entry };
}

function withParts(
  reading: UsageReading & { readonly kind: "usage" },
  parts: readonly UsagePart[],
): UsageReading {
  const sum = parts.map(({ usage }) => usage).reduce(sumOfUsages);
  if (sum.inputTokens > tokensPerResponseMax || sum.outputTokens > tokensPerResponseMax)
    return { kind: "invalid", reason: `more than ${tokensPerResponseMax} tokens in all calls` };
  return { ...reading, ...sum, reportedCost: reading.reportedCost, parts };
}

/**
 * Gemini counts what its tools add to the prompt separately; both are input. So are the tokens of
 * Mistral's connectors.
 */
function inputElsewhere(usage: Fields): unknown {
  return (
    sumOf(usage["promptTokenCount"], usage["toolUsePromptTokenCount"]) ??
    usage["inputTokens"] ??
    sumOf(usage["total_input_tokens"], usage["total_tool_use_tokens"])
  );
}

/** Gemini counts thoughts separately; both are output. */
function outputElsewhere(usage: Fields): unknown {
  return (
    sumOf(
      usage["candidatesTokenCount"] ?? usage["responseTokenCount"],
      usage["thoughtsTokenCount"],
    ) ??
    usage["outputTokens"] ??
    sumOf(usage["total_output_tokens"], usage["total_thought_tokens"])
  );
}

function sumOf(count: unknown, more: unknown): unknown {
  return isValidCount(count) && isValidCount(more) ? count + more : count;
}

/**
 * The input tokens of sound, for a provider that counts sound in seconds and its tokens only in the
 * total.
 */
function undetailedSoundTokens(
  usage: Fields,
  input: unknown,
  output: unknown,
  total: unknown,
): number {
  if (isAbsent(usage["prompt_audio_seconds"]) && isAbsent(usage["connector_tokens"])) return 0;
  return isValidCount(input) && isValidCount(output) && isValidCount(total)
    ? Math.max(0, total - input - output)
    : 0;
}

type Counts = Pick<Usage, "inputTokens" | "outputTokens"> & { readonly isBareTotal: boolean };

/**
 * Input and output, or the problem with them. `besideInput`: input tokens that `rawInput` leaves
 * out.
 */
function readCounts(
  rawInput: unknown,
  rawOutput: unknown,
  rawTotal: unknown,
  besideInput: number,
): Counts | string {
  const input = isValidCount(rawInput) ? rawInput + besideInput : null;
  const output = isValidCount(rawOutput) ? rawOutput : null;
  const total = isValidCount(rawTotal) && rawTotal > 0 ? rawTotal : null;
  if (total === null) {
    if (input === null && output === null && isValidCount(rawTotal))
      return { inputTokens: 0, outputTokens: 0, isBareTotal: false };
    if (input === null && !isAbsent(rawInput)) return invalidCount("prompt_tokens", rawInput);
    if (output === null && !isAbsent(rawOutput))
      return invalidCount("completion_tokens", rawOutput);
    if (input === null && output === null) return invalidCount("total_tokens", rawTotal);
  }
  // If only the total is known, as for embeddings, all of it is input, unless the answer has text
  // (`response-meter.ts`).
  const inputTokens = input ?? Math.max((total ?? 0) - (output ?? 0), 0);
  const outputTokens = Math.max(output ?? 0, (total ?? 0) - inputTokens);
  // The bound applies to each side, so a response may use twice as much.
  return isValidCount(inputTokens)
    ? {
        inputTokens,
        outputTokens,
        isBareTotal: total !== null && input === null && outputTokens === 0,
      }
    : invalidCount("the sum of input and cached tokens", inputTokens);
}

interface Details {
  readonly cached: number;
  readonly written: number;
  /** Whether the counts are in Anthropic's fields, and the input count excludes them. */
  readonly areBesideInput: boolean;
}

function readDetails(usage: Fields, uncommon: Fields, notes: string[]): Details {
  const inner =
    usage["prompt_tokens_details"] ??
    usage["input_tokens_details"] ??
    uncommon["input_token_details"];
  const details = objectOf(inner);
  const cacheRead = usage["cache_read_input_tokens"] ?? uncommon["cacheReadInputTokens"];
  const cacheWrite = usage["cache_creation_input_tokens"] ?? uncommon["cacheWriteInputTokens"];
  return {
    cached: readDetail(
      "cached tokens",
      details["cached_tokens"] ??
        cacheRead ??
        uncommon["prompt_cache_hit_tokens"] ??
        uncommon["cached_tokens"] ??
        uncommon["cachedContentTokenCount"] ??
        uncommon["total_cached_tokens"],
      notes,
    ),
    written: readDetail(
      "cache-write tokens",
      details["cache_write_tokens"] ?? details["cache_creation_tokens"] ?? cacheWrite,
      notes,
    ),
    areBesideInput: !isObject(inner) && (!isAbsent(cacheRead) || !isAbsent(cacheWrite)),
  };
}

function readDetail(name: string, value: unknown, notes: string[]): number {
  if (isAbsent(value)) return 0;
  if (isValidCount(value)) return value;
  notes.push(`${invalidCount(name, value)}: taken as 0`);
  return 0;
}

/** One of xAI's ticks is 10^-10 USD. */
const picoPerTick = 100;

/**
 * `cost` in US dollars (OpenRouter), `cost.total_cost` (Perplexity), `estimated_cost` (DeepInfra)
 * or `cost_in_usd_ticks` (xAI).
 */
function readCost(usage: Fields, notes: string[]): PicoUsd | null {
  const ticks = usage["cost_in_usd_ticks"];
  const raw = usage["cost"] ?? usage["estimated_cost"] ?? usage["total_cost"];
  const usd = isObject(raw) ? raw["total_cost"] : raw;
  if (isAbsent(ticks) && isAbsent(usd)) return null;
  const cost = isAbsent(ticks)
    ? costFromUsd(usd, usage)
    : isCount(ticks) && isPicoUsd(ticks * picoPerTick)
      ? ticks * picoPerTick
      : null;
  if (cost === null) notes.push(`the reported cost is ignored: ${show(ticks ?? usd)}`);
  return cost;
}

/**
 * If the caller brings its own key, OpenRouter's `cost` is only its fee, and another field has the
 * upstream's cost.
 */
function costFromUsd(usd: unknown, usage: Fields): PicoUsd | null {
  const costDetails = usage["cost_details"];
  const upstream =
    usage["is_byok"] === true && isObject(costDetails)
      ? costDetails["upstream_inference_cost"]
      : null;
  const fee = picoFromUsd(usd);
  const upstreamCost = isAbsent(upstream) ? 0 : picoFromUsd(upstream);
  if (fee === null || upstreamCost === null) return null;
  return isPicoUsd(fee + upstreamCost) ? fee + upstreamCost : null;
}

function isValidCount(value: unknown): value is number {
  return isCount(value) && value <= tokensPerResponseMax;
}

function invalidCount(name: string, value: unknown): string {
  return `${name} must be an integer from 0 to ${tokensPerResponseMax}, not ${show(value)}`;
}

function invalid(name: string, value: unknown): UsageReading {
  return { kind: "invalid", reason: invalidCount(name, value) };
}

/** The counts that contain the details. */
interface Whole {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteInputTokens: number;
  /** Input tokens of sound, for a provider that doesn't detail them. */
  readonly soundTokens?: number;
}

/**
 * The details; null if there are none. This runs for each answer, and most have hardly any details.
 */
export function readUsageDetails(
  usage: Fields,
  whole: Whole,
  uncommon = uncommonFields(usage),
): UsageDetails | null {
  const {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    soundTokens = 0,
  } = whole;
  const input = objectOf(
    usage["prompt_tokens_details"] ??
      usage["input_tokens_details"] ??
      uncommon["input_token_details"],
  );
  const output = objectOf(
    usage["completion_tokens_details"] ??
      usage["output_tokens_details"] ??
      uncommon["output_token_details"],
  );
  const cached = objectOf(input["cached_tokens_details"]);
  const { promptTokensDetails, toolUsePromptTokensDetails, cacheTokensDetails } = uncommon;
  const promptByModality = promptTokensDetails ?? uncommon["input_tokens_by_modality"];
  const toolsByModality = toolUsePromptTokensDetails ?? uncommon["tool_use_tokens_by_modality"];
  const cachedByModality = cacheTokensDetails ?? uncommon["cached_tokens_by_modality"];
  const outputByModality =
    uncommon["candidatesTokensDetails"] ??
    uncommon["responseTokensDetails"] ??
    uncommon["output_tokens_by_modality"];
  const audioInputTokens = validPart(
    input["audio_tokens"] ??
      tokensOfModality("AUDIO", promptByModality, toolsByModality) ??
      soundTokens,
    inputTokens,
  );
  const imageInputTokens = validPart(
    input["image_tokens"] ?? tokensOfModality("IMAGE", promptByModality, toolsByModality),
    inputTokens - audioInputTokens,
  );
  const cachedAudioInputTokens = validPart(
    cached["audio_tokens"] ?? tokensOfModality("AUDIO", cachedByModality),
    Math.min(audioInputTokens, cachedInputTokens),
  );
  const cachedImageInputTokens = validPart(
    cached["image_tokens"] ?? tokensOfModality("IMAGE", cachedByModality),
    Math.min(imageInputTokens, cachedInputTokens - cachedAudioInputTokens),
  );
  const audioOutputTokens = validPart(
    output["audio_tokens"] ?? tokensOfModality("AUDIO", outputByModality),
    outputTokens,
  );
  const imageOutputTokens = validPart(
    output["image_tokens"] ?? tokensOfModality("IMAGE", outputByModality),
    outputTokens - audioOutputTokens,
  );
  const reasoningTokens = validPart(
    output["reasoning_tokens"] ??
      output["thinking_tokens"] ??
      uncommon["thoughtsTokenCount"] ??
      uncommon["total_thought_tokens"],
    outputTokens,
  );
  const write1h =
    objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"] ??
    writtenForAnHour(uncommon["cacheDetails"]);
  const cacheWrite1hTokens = validPart(write1h, cacheWriteInputTokens);
  const writeDetails = objectOf(input["cache_write_tokens_details"]);
  const cacheWrite12hTokens = validPart(
    writeDetails["ttl_12h_tokens"],
    cacheWriteInputTokens - cacheWrite1hTokens,
  );
  const { webSearches, fileSearches, mapsSearches, containers } = toolCalls(uncommon);
  const searchUnits = validCalls(uncommon["search_units"]);
  const images = validCalls(uncommon["images"]);
  const pages = validCalls(uncommon["pages_processed"] ?? uncommon["pages"]);
  const audioMs = validMilliseconds(uncommon);
  const characters = validMeasure(uncommon["characters"]);
  const serviceTier = tierIn(usage);
  const region = regionIn(usage["inference_geo"]);
  const tokens = audioInputTokens + imageInputTokens + audioOutputTokens + imageOutputTokens;
  const tools = webSearches + fileSearches + mapsSearches + containers;
  const units = searchUnits + images + pages + audioMs + characters;
  const lastingTokens = cacheWrite1hTokens + cacheWrite12hTokens;
  if (tokens + reasoningTokens + lastingTokens + tools + units === 0)
    return serviceTier === null && region === null
      ? null
      : { serviceTier, region, counts: noDetailCounts };
  return {
    serviceTier,
    region,
    counts: {
      cacheWrite1hTokens,
      audioInputTokens,
      cachedAudioInputTokens,
      imageInputTokens,
      cachedImageInputTokens,
      reasoningTokens,
      audioOutputTokens,
      imageOutputTokens,
      webSearches,
      fileSearches,
      mapsSearches,
      searchUnits,
      audioMs,
      characters,
      images,
      containers,
      pages,
      cacheWrite12hTokens,
    },
  };
}

interface ToolCalls {
  readonly webSearches: number;
  readonly fileSearches: number;
  readonly mapsSearches: number;
  readonly containers: number;
}

const noToolCalls: ToolCalls = { webSearches: 0, fileSearches: 0, mapsSearches: 0, containers: 0 };

/**
 * Calls of the provider's tools: in `server_tool_use` of Anthropic and OpenRouter, which
 * `find-usage.ts` also fills with the calls that it counts in an answer; `tool_usage` of OpenAI;
 * `server_side_tool_usage_details` of xAI; `num_search_queries` of Perplexity; `connectors` of
 * Mistral; and `grounding_tool_count` of Gemini.
 */
function toolCalls(usage: Fields): ToolCalls {
  const {
    server_tool_use: used,
    tool_usage: openaiTools,
    server_side_tool_usage_details: xaiTools,
    connectors: mistralTools,
    grounding_tool_count: grounding,
    num_search_queries: queries,
  } = usage;
  if (
    isAbsent(used ?? openaiTools ?? xaiTools ?? mistralTools) &&
    isAbsent(grounding) &&
    isAbsent(queries)
  )
    return noToolCalls;
  const [tools, openAi, xai, mistral] = [used, openaiTools, xaiTools, mistralTools].map(
    objectOf,
  ) as [Fields, Fields, Fields, Fields];
  return {
    webSearches:
      validCalls(tools["web_search_requests"] ?? objectOf(openAi["web_search"])["num_requests"]) ||
      validCalls(xai["web_search_calls"]) + validCalls(xai["x_search_calls"]) ||
      validCalls(mistral["web_search"]) + validCalls(mistral["web_search_premium"]) ||
      countOf(grounding, "google_search") ||
      validCalls(queries),
    fileSearches:
      validCalls(
        tools["file_search_requests"] ?? objectOf(openAi["file_search"])["num_requests"],
      ) || validCalls(xai["file_search_calls"]) + validCalls(xai["document_search_calls"]),
    mapsSearches: validCalls(tools["maps_search_requests"]) || countOf(grounding, "google_maps"),
    containers: validCalls(tools["containers"]),
  };
}

/** From the Interactions API's list of `{type, count}`. */
function countOf(list: unknown, type: string): number {
  if (!Array.isArray(list)) return 0;
  const match: unknown = list.find((item) => isObject(item) && item["type"] === type);
  return isObject(match) ? validCalls(match["count"]) : 0;
}

/**
 * The length of sound: OpenAI's `seconds` of a usage of type `duration`, Mistral's beside tokens.
 */
function validMilliseconds(usage: Fields): number {
  const seconds = usage["type"] === "duration" ? usage["seconds"] : usage["prompt_audio_seconds"];
  return typeof seconds === "number" ? validMeasure(Math.round(seconds * 1000)) : 0;
}

/** The tier or the speed, of a usage or of a request. */
export function tierIn(usage: Fields): string | null {
  const { speed } = usage;
  if (typeof speed === "string" && speed !== "standard") return labelOf(speed);
  const tier = usage["service_tier"] ?? usage["serviceTier"] ?? usage["trafficType"];
  return serviceTierOf(isObject(tier) ? tier["type"] : tier);
}

/** The region; null for models from before Anthropic had regions. */
export function regionIn(raw: unknown): string | null {
  return raw === "not_available" ? null : labelOf(raw);
}

/** From the list `{ttl, inputTokens}` of Bedrock's Converse. */
function writtenForAnHour(details: unknown): unknown {
  if (!Array.isArray(details)) return undefined;
  return details.find((detail) => isObject(detail) && detail["ttl"] === "1h")?.["inputTokens"];
}

function objectOf(value: unknown): Fields {
  return isObject(value) ? value : noFields;
}

function validPart(value: unknown, whole: number): number {
  if (typeof value !== "number" || value === 0) return 0;
  return isCount(value) && value <= tokensPerResponseMax ? Math.min(value, whole) : 0;
}

function validCalls(value: unknown): number {
  return isCount(value) && value <= callsPerResponseMax ? value : 0;
}

function validMeasure(value: unknown): number {
  return isCount(value) && value <= measurePerResponseMax ? value : 0;
}

/**
 * From Gemini's lists of `{modality, tokenCount}`, or of `{modality, tokens}` with other letters.
 */
function tokensOfModality(
  modality: string,
  list: unknown,
  more: unknown = undefined,
): number | undefined {
  if (list === undefined && more === undefined) return undefined;
  let sum: number | undefined;
  for (const details of [list, more]) {
    if (!Array.isArray(details)) continue;
    for (const item of details as unknown[]) {
      if (!isObject(item)) continue;
      const { modality: name, tokenCount, tokens } = item;
      const count = tokenCount ?? tokens;
      if (typeof name === "string" && name.toUpperCase() === modality && isCount(count))
        sum = (sum ?? 0) + count;
    }
  }
  return sum;
}
