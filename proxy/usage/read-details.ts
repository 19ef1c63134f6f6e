/**
 * What a usage object tells beside its counts (`shared/usage/usage-details.ts`), in the fields of
 * each provider; `test/proxy/usage/reported-usage.ts` has a sample of each form. A detail that is
 * invalid counts as 0, and one that is more than what it is a part of is cut to that.
 *
 * Not here: the tier and the calls that stand beside the usage in an answer (`find-usage.ts` puts
 * them into it).
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount, isObject } from "../../shared/checked.js";
import {
  callsPerResponseMax,
  noDetailCounts,
  serviceTierOf,
  type UsageDetails,
} from "../../shared/usage/usage-details.js";

type Fields = Readonly<Record<string, unknown>>;

/** The counts that details are parts of. */
interface Whole {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteInputTokens: number;
}

const noFields: Fields = {};

/** Null when it tells nothing. Read for each answer, and most tell next to nothing. */
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
  const { promptTokensDetails: prompt, cacheTokensDetails: kept } = usage;
  const { candidatesTokensDetails: candidates } = usage;
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
    output["reasoning_tokens"] ?? output["thinking_tokens"] ?? usage["thoughtsTokenCount"],
    outputTokens,
  );
  const lasting = objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"];
  const cacheWrite1hTokens = part(lasting, cacheWriteInputTokens);
  const webSearches = calls(tools["web_search_requests"]);
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

function audioIn(details: unknown): unknown {
  return details === undefined ? undefined : ofModality(details, "AUDIO");
}

function imagesIn(details: unknown): unknown {
  return details === undefined ? undefined : ofModality(details, "IMAGE");
}

/** Of Gemini's list of `{modality, tokenCount}`. */
function ofModality(details: unknown, modality: string): unknown {
  if (!Array.isArray(details)) return undefined;
  const found: unknown = details.find((item) => isObject(item) && item["modality"] === modality);
  return isObject(found) ? found["tokenCount"] : undefined;
}
