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
  noDetailCounts,
  serviceTierOf,
  type UsageDetails,
} from "../../shared/usage/usage-details.js";

/**
 * What one response used. `inputTokens + outputTokens` always equals `totalTokens`, the count that
 * token limits charge.
 */
export interface Usage {
  /** All input, including tokens read from a cache and written to one. */
  readonly inputTokens: number;
  /** All output, including reasoning. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Of the input: read from a cache. */
  readonly cachedInputTokens: number;
  /** Of the input: written to a cache. */
  readonly cacheWriteInputTokens: number;
  /** The cost that the provider reports, or null. */
  readonly reportedCost: PicoUsd | null;
  /** Null if the provider reports no details. */
  readonly details: UsageDetails | null;
}

export type UsageReading =
  | ({
      readonly kind: "usage";
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
 * xAI and Gemini); a total below the sum is ignored. An invalid detail counts as 0, and a detail
 * larger than the input is cut to it; the note says so.
 */
export function readUsage(usage: unknown): UsageReading {
  if (usage === undefined || usage === null) return absentUsage;
  if (!isObject(usage)) return invalid("usage", usage);
  const hasInputTokens = isAbsent(usage["prompt_tokens"]) && !isAbsent(usage["input_tokens"]);
  const rawInput = hasInputTokens
    ? usage["input_tokens"]
    : (usage["prompt_tokens"] ?? geminiInput(usage) ?? interactionInput(usage));
  const rawOutput =
    usage["completion_tokens"] ??
    usage["output_tokens"] ??
    usage["candidatesTokenCount"] ??
    interactionOutput(usage);
  const rawTotal = usage["total_tokens"] ?? usage["totalTokenCount"];
  if (isAbsent(rawInput) && isAbsent(rawOutput) && isAbsent(rawTotal)) return absentUsage;
  const notes: string[] = [];
  const details = readDetails(usage, notes);
  // Anthropic counts tokens read from and written to its cache beside the input, all others within
  // it.
  const besideInput =
    hasInputTokens && details.areBesideInput ? details.cached + details.written : 0;
  const counts = readCounts(rawInput, rawOutput, rawTotal, besideInput);
  if (typeof counts === "string") return { kind: "invalid", reason: counts };
  const { inputTokens, outputTokens } = counts;
  const cachedInputTokens = Math.min(details.cached, inputTokens);
  const cacheWriteInputTokens = Math.min(details.written, inputTokens - cachedInputTokens);
  if (cachedInputTokens < details.cached || cacheWriteInputTokens < details.written) {
    const given = `${details.cached} read, ${details.written} written`;
    notes.push(`cached tokens cut to the ${inputTokens} of the input: ${given}`);
  }
  const whole = { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens };
  return {
    kind: "usage",
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reportedCost: readCost(usage, notes),
    details: readUsageDetails(usage, whole),
    note: notes.length === 0 ? null : notes.join("; "),
  };
}

/** Gemini counts what its tools add to the prompt separately; both are input. */
function geminiInput({
  promptTokenCount: prompt,
  toolUsePromptTokenCount: ofTools,
}: Fields): unknown {
  return isValidCount(prompt) && isValidCount(ofTools) ? prompt + ofTools : prompt;
}

/** As `geminiInput`, in the fields of interactions. */
function interactionInput({
  total_input_tokens: input,
  total_tool_use_tokens: ofTools,
}: Fields): unknown {
  return isValidCount(input) && isValidCount(ofTools) ? input + ofTools : input;
}

/** Thoughts are beside the output. */
function interactionOutput({
  total_output_tokens: output,
  total_thought_tokens: thoughts,
}: Fields): unknown {
  return isValidCount(output) && isValidCount(thoughts) ? output + thoughts : output;
}

/**
 * Input and output, or the problem with them. `besideInput`: input tokens that `rawInput` leaves
 * out.
 */
function readCounts(
  rawInput: unknown,
  rawOutput: unknown,
  rawTotal: unknown,
  besideInput: number,
): { readonly inputTokens: number; readonly outputTokens: number } | string {
  const input = isValidCount(rawInput) ? rawInput + besideInput : null;
  const output = isValidCount(rawOutput) ? rawOutput : null;
  const total = isValidCount(rawTotal) && rawTotal > 0 ? rawTotal : null;
  if (total === null) {
    if (input === null && output === null && isValidCount(rawTotal))
      return { inputTokens: 0, outputTokens: 0 };
    if (input === null && !isAbsent(rawInput)) return invalidCount("prompt_tokens", rawInput);
    if (output === null && !isAbsent(rawOutput))
      return invalidCount("completion_tokens", rawOutput);
    if (input === null && output === null) return invalidCount("total_tokens", rawTotal);
  }
  // With only a total, as for embeddings, all of it is input.
  const inputTokens = input ?? Math.max((total ?? 0) - (output ?? 0), 0);
  const outputTokens = Math.max(output ?? 0, (total ?? 0) - inputTokens);
  // The bound applies to each side, so a response may use twice as much.
  return isValidCount(inputTokens)
    ? { inputTokens, outputTokens }
    : invalidCount("the sum of input and cached tokens", inputTokens);
}

interface Details {
  readonly cached: number;
  readonly written: number;
  /** The counts came in Anthropic's fields, and its input count excludes them. */
  readonly areBesideInput: boolean;
}

function readDetails(usage: Fields, notes: string[]): Details {
  const inner =
    usage["prompt_tokens_details"] ?? usage["input_tokens_details"] ?? usage["input_token_details"];
  const details: Fields = isObject(inner) ? inner : {};
  const read = usage["cache_read_input_tokens"];
  const wrote = usage["cache_creation_input_tokens"];
  return {
    cached: readDetail(
      "cached tokens",
      details["cached_tokens"] ??
        read ??
        usage["prompt_cache_hit_tokens"] ??
        usage["cached_tokens"] ??
        usage["cachedContentTokenCount"] ??
        usage["total_cached_tokens"],
      notes,
    ),
    written: readDetail(
      "cache-write tokens",
      details["cache_write_tokens"] ?? details["cache_creation_tokens"] ?? wrote,
      notes,
    ),
    areBesideInput: !isObject(inner) && (!isAbsent(read) || !isAbsent(wrote)),
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
 * `cost` in US dollars (OpenRouter), `cost.total_cost` (Perplexity) or `cost_in_usd_ticks` (xAI).
 */
function readCost(usage: Fields, notes: string[]): PicoUsd | null {
  const ticks = usage["cost_in_usd_ticks"];
  const raw = usage["cost"];
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
  const inner = usage["cost_details"];
  const upstream =
    usage["is_byok"] === true && isObject(inner) ? inner["upstream_inference_cost"] : null;
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

/** The counts that the details are parts of. */
interface Whole {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteInputTokens: number;
}

const noFields: Fields = {};

/** Null if there are no details. It runs for each answer, and most report hardly any details. */
export function readUsageDetails(usage: Fields, whole: Whole): UsageDetails | null {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = whole;
  const input = objectOf(
    usage["prompt_tokens_details"] ?? usage["input_tokens_details"] ?? usage["input_token_details"],
  );
  const output = objectOf(
    usage["completion_tokens_details"] ??
      usage["output_tokens_details"] ??
      usage["output_token_details"],
  );
  const cached = objectOf(input["cached_tokens_details"]);
  const tools = objectOf(usage["server_tool_use"]);
  const prompt = usage["promptTokensDetails"] ?? usage["input_tokens_by_modality"];
  const kept = usage["cacheTokensDetails"] ?? usage["cached_tokens_by_modality"];
  const candidates = usage["candidatesTokensDetails"] ?? usage["output_tokens_by_modality"];
  const audioInputTokens = part(input["audio_tokens"] ?? audioIn(prompt), inputTokens);
  const imageInputTokens = part(
    input["image_tokens"] ?? imagesIn(prompt),
    inputTokens - audioInputTokens,
  );
  const cachedAudioInputTokens = part(
    cached["audio_tokens"] ?? audioIn(kept),
    Math.min(audioInputTokens, cachedInputTokens),
  );
  const cachedImageInputTokens = part(
    cached["image_tokens"] ?? imagesIn(kept),
    Math.min(imageInputTokens, cachedInputTokens - cachedAudioInputTokens),
  );
  const audioOutputTokens = part(output["audio_tokens"] ?? audioIn(candidates), outputTokens);
  const imageOutputTokens = part(
    output["image_tokens"] ?? imagesIn(candidates),
    outputTokens - audioOutputTokens,
  );
  const reasoningTokens = part(
    output["reasoning_tokens"] ??
      output["thinking_tokens"] ??
      usage["thoughtsTokenCount"] ??
      usage["total_thought_tokens"],
    outputTokens,
  );
  const lasting = objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"];
  const cacheWrite1hTokens = part(lasting, cacheWriteInputTokens);
  const webSearches = calls(tools["web_search_requests"] ?? googleSearches(usage));
  const fileSearches = calls(tools["file_search_requests"]);
  const serviceTier = tierIn(usage);
  const sum = audioInputTokens + imageInputTokens + audioOutputTokens + imageOutputTokens;
  if (sum + reasoningTokens + cacheWrite1hTokens + webSearches + fileSearches === 0)
    return serviceTier === null ? null : { serviceTier, counts: noDetailCounts };
  return {
    serviceTier,
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
    },
  };
}

function tierIn(usage: Fields): UsageDetails["serviceTier"] {
  if (usage["speed"] === "fast") return "fast";
  return serviceTierOf(usage["service_tier"] ?? usage["serviceTier"] ?? usage["trafficType"]);
}

function objectOf(value: unknown): Fields {
  return isObject(value) ? value : noFields;
}

function part(value: unknown, whole: number): number {
  if (typeof value !== "number" || value === 0) return 0;
  return isCount(value) && value <= tokensPerResponseMax ? Math.min(value, whole) : 0;
}

function calls(value: unknown): number {
  return isCount(value) && value <= callsPerResponseMax ? value : 0;
}

/** From the list `{type, count}` of interactions. */
function googleSearches({ grounding_tool_count: tools }: Fields): unknown {
  if (!Array.isArray(tools)) return undefined;
  const found: unknown = tools.find((tool) => isObject(tool) && tool["type"] === "google_search");
  return isObject(found) ? found["count"] : undefined;
}

function audioIn(details: unknown): unknown {
  return details === undefined ? undefined : ofModality(details, "AUDIO");
}

function imagesIn(details: unknown): unknown {
  return details === undefined ? undefined : ofModality(details, "IMAGE");
}

/** From Gemini's list of `{modality, tokenCount}`, or that of interactions, in small letters. */
function ofModality(details: unknown, modality: string): unknown {
  if (!Array.isArray(details)) return undefined;
  const found: unknown = details.find(
    (item) => isObject(item) && String(item["modality"]).toUpperCase() === modality,
  );
  return isObject(found) ? (found["tokenCount"] ?? found["tokens"]) : undefined;
}
