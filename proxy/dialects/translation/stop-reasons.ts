/** Why an answer ended, in both dialects, as tables; docs/dialects.md shows them. */
import { FailedAnswer } from "./translation.js";

/** Of an Anthropic answer, for a chat client. */
export const finishReasons: ReadonlyMap<string, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["pause_turn", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);

/** Of a chat completion, for an Anthropic client. `model_length` is Mistral's. */
export const stopReasons: ReadonlyMap<string, string> = new Map([
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["model_length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["function_call", "tool_use"],
  ["content_filter", "refusal"],
]);

/** A reason that the table doesn't know ended the answer all the same. */
export function finishReason(stopReason: unknown): string {
  return finishReasons.get(stopReason as string) ?? "stop";
}

/** At OpenRouter and at DeepSeek: no end, but a failure. */
const failures: ReadonlySet<unknown> = new Set(["error", "insufficient_system_resource"]);

/**
 * Throws `FailedAnswer`. Some providers end an answer that calls tools with `stop`; a client of
 * Anthropic's calls them only when it is told to. A model that refuses ends with `stop`, and says
 * so in `refusal`.
 */
export function stopReason(finish: unknown, callsTools: boolean, refuses: boolean): string {
  if (failures.has(finish)) throw new FailedAnswer("the provider ended its answer with an error");
  const reason = stopReasons.get(finish as string) ?? "end_turn";
  if (reason !== "end_turn") return reason;
  if (refuses) return "refusal";
  return callsTools ? "tool_use" : reason;
}
