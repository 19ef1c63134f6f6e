/**
 * Anthropic's thinking blocks. Chat clients get them as `thinking_blocks` beside
 * `reasoning_content`, with the names that LiteLLM established: a list of `{ type: "thinking",
 * thinking, signature }` and `{ type: "redacted_thinking", data }`.
 */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "./translation.js";

/** Checks a block from another gateway: a client must be able to send it back. */
export function isThinkingBlock(block: unknown): block is JsonObject {
  if (!isObject(block)) return false;
  if (block["type"] === "redacted_thinking") return typeof block["data"] === "string";
  return (
    block["type"] === "thinking" &&
    typeof block["thinking"] === "string" &&
    typeof block["signature"] === "string"
  );
}

/** Whether Anthropic requires a block back with the next request: it is signed or encrypted. */
export function isRequiredBack(block: JsonObject): boolean {
  return (
    block["type"] === "redacted_thinking" ||
    (typeof block["signature"] === "string" && block["signature"] !== "")
  );
}
