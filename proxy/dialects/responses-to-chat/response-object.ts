/**
 * The Response object around the output: its id, the request's parameters as the API repeats them,
 * the usage, and how it ended.
 */
import { isCount, isObject } from "../../../shared/checked.js";
import { readUsage } from "../../usage/read-usage.js";
import { chatFinishReason } from "../shared/stop-reasons.js";
import type { AnswerContext, JsonObject } from "../shared/translation.js";

export type Ending =
  | { readonly status: "completed" }
  | { readonly status: "incomplete"; readonly reason: "max_output_tokens" | "content_filter" }
  | { readonly status: "failed"; readonly error: JsonObject };

/**
 * How the answer ended. Reads OpenAI's reasons, Mistral's `model_length`, OpenRouter's `error` and
 * DeepSeek's `insufficient_system_resource`. Any other reason counts as a normal end. `choice` may
 * contain the error.
 */
export function readEnding(finish: unknown, choice: JsonObject): Ending {
  const reason = chatFinishReason(finish);
  if (reason === "length" || reason === "model_length")
    return { status: "incomplete", reason: "max_output_tokens" };
  if (reason === "content_filter") return { status: "incomplete", reason: "content_filter" };
  if (reason === "error" || reason === "insufficient_system_resource")
    return { status: "failed", error: responseError(choice["error"]) };
  return { status: "completed" };
}

/** The error of a response has one of two codes. */
export function responseError(error: unknown): JsonObject {
  const { code, type, message } = isObject(error) ? error : {};
  const isLimited =
    code === 429 ||
    code === "429" ||
    code === "rate_limit_exceeded" ||
    (typeof type === "string" && type.includes("rate_limit"));
  return {
    code: isLimited ? "rate_limit_exceeded" : "server_error",
    message:
      typeof message === "string" && message !== ""
        ? message
        : "the provider ended its answer with an error",
  };
}

export type Progress = { readonly status: "in_progress" } | Ending;

/** The state of a response that is being built. */
interface ResponseState {
  readonly progress: Progress;
  readonly output: readonly JsonObject[];
  /** The usage that the provider reported, or null. */
  readonly usage: unknown;
  /** The tier that was used; null if the provider doesn't report it. */
  readonly serviceTier: string | null;
}

/**
 * The request's id, in the characters that ids allow. The ids of the response and its items end in
 * it.
 */
export function idStem({ requestId }: AnswerContext): string {
  return requestId.replace(/^req_/, "").replace(/[^A-Za-z0-9_-]/g, "_");
}

/** The parameters that the API repeats in its answers. */
export const repeatedFields: readonly string[] = [
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "parallel_tool_calls",
  "prompt_cache_key",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "user",
];

/**
 * A parameter that the request lacks gets the API's default, or null if the provider's default
 * applies. `store` is false, since responses aren't stored.
 */
export function responseObject(context: AnswerContext, state: ResponseState): JsonObject {
  const { request } = context;
  const { progress } = state;
  const text = isObject(request["text"]) ? request["text"] : {};
  const reasoning = isObject(request["reasoning"]) ? request["reasoning"] : {};
  return {
    id: `resp_${idStem(context)}`,
    object: "response",
    created_at: context.nowSeconds,
    status: progress.status,
    access_programs: null,
    background: false,
    error: progress.status === "failed" ? progress.error : null,
    incomplete_details: progress.status === "incomplete" ? { reason: progress.reason } : null,
    instructions: request["instructions"] ?? null,
    max_output_tokens: request["max_output_tokens"] ?? null,
    max_tool_calls: request["max_tool_calls"] ?? null,
    model: context.model,
    output: state.output,
    parallel_tool_calls: request["parallel_tool_calls"] ?? true,
    previous_response_id: null,
    prompt_cache_key: request["prompt_cache_key"] ?? null,
    prompt_cache_retention: request["prompt_cache_retention"] ?? null,
    reasoning: { effort: reasoning["effort"] ?? null, summary: reasoning["summary"] ?? null },
    safety_identifier: request["safety_identifier"] ?? null,
    service_tier: state.serviceTier,
    store: false,
    temperature: request["temperature"] ?? null,
    text: { format: text["format"] ?? { type: "text" }, verbosity: text["verbosity"] ?? null },
    tool_choice: request["tool_choice"] ?? "auto",
    tools: request["tools"] ?? [],
    top_logprobs: request["top_logprobs"] ?? 0,
    top_p: request["top_p"] ?? null,
    truncation: "disabled",
    usage: usageOf(state.usage),
    user: request["user"] ?? null,
    metadata: request["metadata"] ?? {},
  };
}

/** Null if the provider reported no usage or an invalid one. */
function usageOf(usage: unknown): JsonObject | null {
  const reading = readUsage(usage);
  if (!isObject(usage) || reading.kind !== "usage") return null;
  const details = usage["completion_tokens_details"];
  const reasoning = isObject(details) ? details["reasoning_tokens"] : 0;
  return {
    input_tokens: reading.inputTokens,
    input_tokens_details: {
      cached_tokens: reading.cachedInputTokens,
      cache_write_tokens: reading.cacheWriteInputTokens,
    },
    output_tokens: reading.outputTokens,
    output_tokens_details: {
      reasoning_tokens: isCount(reasoning) ? Math.min(reasoning, reading.outputTokens) : 0,
    },
    total_tokens: reading.totalTokens,
  };
}
