/** Why an answer ended, in each dialect. The tables are also in docs/reference/dialects.md. */
import { isObject } from "../../../shared/checked.js";
import { isFailedReason } from "../../body/error-body.js";
import { FailedAnswer, type JsonObject } from "./translation.js";

/** Anthropic's `stop_reason` to a chat completion's `finish_reason`. */
export const finishReasons: ReadonlyMap<string, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["pause_turn", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);

/**
 * A chat completion's `finish_reason` to Anthropic's `stop_reason`. `model_length` is Mistral's.
 */
export const stopReasons: ReadonlyMap<string, string> = new Map([
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["model_length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["function_call", "tool_use"],
  ["content_filter", "refusal"],
]);

/** A chat completion's `finish_reason` to that of Gemini's own API. */
export const googleFinishReasons: ReadonlyMap<string, string> = new Map([
  ["stop", "STOP"],
  ["tool_calls", "STOP"],
  ["function_call", "STOP"],
  ["length", "MAX_TOKENS"],
  ["model_length", "MAX_TOKENS"],
  ["content_filter", "SAFETY"],
]);

/**
 * The reason in the words of chat completions: some hosts return that of the API behind them,
 * Anthropic's or Gemini's.
 */
export function chatFinishReason(finish: unknown): unknown {
  return typeof finish === "string" ? (otherNames.get(finish.toLowerCase()) ?? finish) : finish;
}

const otherNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  ["safety", "content_filter"],
]);

/** An unknown reason counts as a normal end; null if the answer failed. */
export function googleFinishReason(finish: unknown): string | null {
  const reason = chatFinishReason(finish);
  return failures.has(reason) ? null : (googleFinishReasons.get(reason as string) ?? "STOP");
}

/** An unknown reason counts as a normal end; with a call, it counts as the end of a call. */
export function finishReason(stopReason: unknown, callsTools: boolean): string {
  const reason = finishReasons.get(stopReason as string) ?? "stop";
  return reason === "stop" && callsTools ? "tool_calls" : reason;
}

/** Whether a choice of a stream has a part of an answer. */
export function hasContent({ delta, message = delta }: JsonObject): boolean {
  if (!isObject(message)) return false;
  for (const name in message) {
    const value = message[name];
    const isEmpty = value === null || value === "" || (Array.isArray(value) && value.length === 0);
    if (name !== "role" && !isEmpty) return true;
  }
  return false;
}

/** The failure of an answer that contains nothing but its finish reason; null for any other. */
export function failureOf(finish: unknown): FailedAnswer | null {
  return isFailedReason(finish)
    ? new FailedAnswer(`the provider ended its answer without content: ${finish}`)
    : null;
}

/** OpenRouter's and DeepSeek's reasons for a failed answer. */
const failures: ReadonlySet<unknown> = new Set(["error", "insufficient_system_resource"]);

/**
 * The client's stop sequence that ended a choice: vLLM calls it `stop_reason`, SGLang
 * `matched_stop`. Null for any other end, such as a stop token, whose value is a number.
 */
export function stopSequence(choice: JsonObject): string | null {
  const matched = choice["stop_reason"] ?? choice["matched_stop"];
  // Other hosts repeat a reason in this field.
  const isSequence =
    typeof matched === "string" && !finishReasons.has(matched) && !stopReasons.has(matched);
  return choice["finish_reason"] === "stop" && isSequence ? matched : null;
}

/**
 * An answer's `stop_reason` and `stop_sequence`: a call or a refusal takes precedence over a
 * sequence.
 */
export function stopFields(reason: string, sequence: string | null): JsonObject {
  return reason === "end_turn" && sequence !== null
    ? { stop_reason: "stop_sequence", stop_sequence: sequence }
    : { stop_reason: reason, stop_sequence: null };
}

/**
 * Throws `FailedAnswer`. Some providers end an answer with tool calls with `stop`, but an Anthropic
 * client only calls tools after `tool_use`. A refusal also ends with `stop`, and its text is in the
 * field `refusal`.
 */
export function stopReason(finish: unknown, callsTools: boolean, refuses: boolean): string {
  if (failures.has(finish)) throw new FailedAnswer("the provider ended its answer with an error");
  const reason = stopReasons.get(chatFinishReason(finish) as string) ?? "end_turn";
  if (reason !== "end_turn") return reason;
  if (refuses) return "refusal";
  return callsTools ? "tool_use" : reason;
}
