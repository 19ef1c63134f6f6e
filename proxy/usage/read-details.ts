/**
 * What a usage object tells beside its counts (`shared/usage/usage-details.ts`), in the fields of
 * each provider; docs/usage.md has the table. A detail that is invalid counts as 0, and one that is
 * more than what it is a part of is cut to that.
 *
 * Not here: the tier and the calls that stand beside the usage in an answer (`find-usage.ts` puts
 * them into it).
 */
import { isObject } from "../../shared/checked.js";
import {
  type DetailCounts,
  type DetailName,
  detailsOf,
  isDetail,
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

/** Null when it tells nothing. */
export function readUsageDetails(usage: Fields, whole: Whole): UsageDetails | null {
  const input = firstObject(usage, inputFields);
  const output = firstObject(usage, outputFields);
  const cached = objectOf(input["cached_tokens_details"]);
  const tools = objectOf(usage["server_tool_use"]);
  const serviceTier =
    usage["speed"] === "fast"
      ? "fast"
      : serviceTierOf(usage["service_tier"] ?? usage["serviceTier"] ?? usage["trafficType"]);
  return detailsOf(
    serviceTier,
    fitted(
      {
        cacheWrite1hTokens: objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"],
        audioInputTokens:
          input["audio_tokens"] ?? ofModality(usage["promptTokensDetails"], "AUDIO"),
        cachedAudioInputTokens:
          cached["audio_tokens"] ?? ofModality(usage["cacheTokensDetails"], "AUDIO"),
        imageInputTokens:
          input["image_tokens"] ?? ofModality(usage["promptTokensDetails"], "IMAGE"),
        cachedImageInputTokens:
          cached["image_tokens"] ?? ofModality(usage["cacheTokensDetails"], "IMAGE"),
        reasoningTokens:
          output["reasoning_tokens"] ?? output["thinking_tokens"] ?? usage["thoughtsTokenCount"],
        audioOutputTokens:
          output["audio_tokens"] ?? ofModality(usage["candidatesTokensDetails"], "AUDIO"),
        imageOutputTokens:
          output["image_tokens"] ?? ofModality(usage["candidatesTokensDetails"], "IMAGE"),
        webSearches: tools["web_search_requests"],
        fileSearches: tools["file_search_requests"],
      },
      whole,
    ),
  );
}

const inputFields = ["prompt_tokens_details", "input_tokens_details", "input_token_details"];
const outputFields = ["completion_tokens_details", "output_tokens_details", "output_token_details"];

function firstObject(usage: Fields, names: readonly string[]): Fields {
  for (const name of names) if (isObject(usage[name])) return usage[name];
  return noFields;
}

function objectOf(value: unknown): Fields {
  return isObject(value) ? value : noFields;
}

/** Of Gemini's list of `{modality, tokenCount}`. */
function ofModality(details: unknown, modality: string): unknown {
  if (!Array.isArray(details)) return undefined;
  const found: unknown = details.find((item) => isObject(item) && item["modality"] === modality);
  return isObject(found) ? found["tokenCount"] : undefined;
}

function fitted(raw: Readonly<Record<DetailName, unknown>>, whole: Whole): DetailCounts {
  const count = (name: DetailName, max = Infinity): number => {
    const value = raw[name];
    return isDetail(name, value) ? Math.min(value, max) : 0;
  };
  const audioInputTokens = count("audioInputTokens", whole.inputTokens);
  const imageInputTokens = count("imageInputTokens", whole.inputTokens - audioInputTokens);
  const cachedAudioInputTokens = count(
    "cachedAudioInputTokens",
    Math.min(audioInputTokens, whole.cachedInputTokens),
  );
  const audioOutputTokens = count("audioOutputTokens", whole.outputTokens);
  return {
    cacheWrite1hTokens: count("cacheWrite1hTokens", whole.cacheWriteInputTokens),
    audioInputTokens,
    cachedAudioInputTokens,
    imageInputTokens,
    cachedImageInputTokens: count(
      "cachedImageInputTokens",
      Math.min(imageInputTokens, whole.cachedInputTokens - cachedAudioInputTokens),
    ),
    reasoningTokens: count("reasoningTokens", whole.outputTokens),
    audioOutputTokens,
    imageOutputTokens: count("imageOutputTokens", whole.outputTokens - audioOutputTokens),
    webSearches: count("webSearches"),
    fileSearches: count("fileSearches"),
  };
}
