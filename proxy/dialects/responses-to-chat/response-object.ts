/**
 * The Response object around what a model said: its id, the request's parameters as the API repeats
 * them, and the usage.
 */
import { isCount, isObject } from "../../../shared/assert.js";
import { readUsage } from "../../usage/read-usage.js";
import type { AnswerContext, JsonObject } from "../translation/translation.js";

export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

/** What changes while a response is being made. */
export interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly JsonObject[];
  readonly error: JsonObject | null;
  readonly incompleteReason: "max_output_tokens" | "content_filter" | null;
  /** As the provider told it; null: not at all. */
  readonly usage: unknown;
  /** The one that was used, or null when the provider doesn't say. */
  readonly serviceTier: string | null;
}

/**
 * What ids of this response and its items end in: the request's id, as far as an id may hold it.
 */
export function idStem({ requestId }: AnswerContext): string {
  return requestId.replace(/^req_/, "").replace(/[^A-Za-z0-9_-]/g, "_");
}

/**
 * A parameter that wasn't given has the API's default, or null where the provider's default holds.
 * `store` is false, since nobody keeps the response.
 */
export function responseObject(context: AnswerContext, state: ResponseState): JsonObject {
  const { request } = context;
  const text = isObject(request["text"]) ? request["text"] : {};
  const reasoning = isObject(request["reasoning"]) ? request["reasoning"] : {};
  return {
    id: `resp_${idStem(context)}`,
    object: "response",
    created_at: context.nowSeconds,
    status: state.status,
    background: false,
    error: state.error,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
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

/** Null when the provider told none, or nonsense. */
function usageOf(told: unknown): JsonObject | null {
  const reading = readUsage(told);
  if (!isObject(told) || reading.kind !== "usage") return null;
  const details = told["completion_tokens_details"];
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
