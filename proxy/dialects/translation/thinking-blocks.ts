/**
 * Anthropic's thinking blocks, which Sluice gives chat clients as `thinking_blocks` beside
 * `reasoning_content`, under the names that LiteLLM made usual: a list of `{ type: "thinking",
 * thinking, signature }` and `{ type: "redacted_thinking", data }`.
 */
import { isObject } from "../../../shared/assert.js";
import type { JsonObject } from "./translation.js";

/** What another gateway gave is checked: a client must be able to send it back. */
export function isThinkingBlock(block: unknown): block is JsonObject {
  if (!isObject(block)) return false;
  if (block["type"] === "redacted_thinking") return typeof block["data"] === "string";
  return (
    block["type"] === "thinking" &&
    typeof block["thinking"] === "string" &&
    typeof block["signature"] === "string"
  );
}

/** Whether Anthropic wants a block back with the next request: it is signed, or encrypted. */
export function isProof(block: JsonObject): boolean {
  return (
    block["type"] === "redacted_thinking" ||
    (typeof block["signature"] === "string" && block["signature"] !== "")
  );
}
