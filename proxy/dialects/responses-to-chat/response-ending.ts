/** How a chat completion ended, as the status of a response and its error. */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "../translation/translation.js";

export type Ending =
  | { readonly status: "completed" }
  | { readonly status: "incomplete"; readonly reason: "max_output_tokens" | "content_filter" }
  | { readonly status: "failed"; readonly error: JsonObject };

/**
 * Beside OpenAI's reasons: Mistral's `model_length`, OpenRouter's `error`, DeepSeek's
 * `insufficient_system_resource`. Any other reason is a normal end. `choice` may hold the error.
 */
export function readEnding(reason: unknown, choice: JsonObject): Ending {
  if (reason === "length" || reason === "model_length")
    return { status: "incomplete", reason: "max_output_tokens" };
  if (reason === "content_filter") return { status: "incomplete", reason: "content_filter" };
  if (reason === "error" || reason === "insufficient_system_resource")
    return { status: "failed", error: responseError(choice["error"]) };
  return { status: "completed" };
}

/** A response's error has one of two codes. */
export function responseError(error: unknown): JsonObject {
  const { code, type, message } = isObject(error) ? error : {};
  const limited =
    code === 429 ||
    code === "429" ||
    code === "rate_limit_exceeded" ||
    (typeof type === "string" && type.includes("rate_limit"));
  return {
    code: limited ? "rate_limit_exceeded" : "server_error",
    message:
      typeof message === "string" && message !== ""
        ? message
        : "the provider ended its answer with an error",
  };
}
