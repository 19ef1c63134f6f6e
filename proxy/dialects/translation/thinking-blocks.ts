/**
 * Anthropic's thinking blocks. Chat clients get them as `thinking_blocks` beside
 * `reasoning_content`, with the names that LiteLLM established: a list of `{ type: "thinking",
 * thinking, signature }` and `{ type: "redacted_thinking", data }`.
 */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "./translation.js";

/**
 * The signature of thinking that no provider signed. Clients keep and return only thinking with a
 * signature; the models that want their thinking back get its text.
 */
export const noSignature = "unsigned";

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

/** Without fields that others have added. */
export function thinkingBlock({ type, thinking, signature, data }: JsonObject): JsonObject {
  return type === "thinking" ? { type, thinking, signature } : { type, data };
}

/** Whether Anthropic requires a block back with the next request: it is signed or encrypted. */
export function isRequiredBack(block: JsonObject): boolean {
  const { type, signature } = block;
  if (type === "redacted_thinking") return true;
  return typeof signature === "string" && signature !== "" && signature !== noSignature;
}
