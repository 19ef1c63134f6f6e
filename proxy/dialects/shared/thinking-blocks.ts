/**
 * Anthropic's thinking blocks. Chat clients get them as `thinking_blocks` beside
 * `reasoning_content`, with the names that LiteLLM established: a list of `{ type: "thinking",
 * thinking, signature }` and `{ type: "redacted_thinking", data }`.
 */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "./translation.js";

/**
 * The signature of thinking that no provider signed. Clients keep and return only thinking with a
 * signature; models that want their thinking back get its text.
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

/** The block without fields that others have added. */
export function thinkingBlock({ type, thinking, signature, data }: JsonObject): JsonObject {
  return type === "thinking" ? { type, thinking, signature } : { type, data };
}

/** Whether Anthropic requires a block back with the next request: a signed or encrypted one. */
export function mustBeReturned(block: JsonObject): boolean {
  const { type, signature } = block;
  if (type === "redacted_thinking") return true;
  return typeof signature === "string" && signature !== "" && signature !== noSignature;
}

/** OpenRouter's name for the thinking of Claude, whose signatures hold on every platform. */
const formatOfClaude = "anthropic-claude-v1";

/** Whether a chat client asks for reasoning as OpenRouter's clients do, with an object. */
export function wantsDetails(request: JsonObject): boolean {
  return isObject(request["reasoning"]);
}

/** A block as OpenRouter's clients get it, in a message's `reasoning_details`. */
export function reasoningDetail(block: JsonObject, index: number): JsonObject {
  const { thinking: text, signature, data } = block;
  return block["type"] === "thinking"
    ? { type: "reasoning.text", text, signature, format: formatOfClaude, index }
    : { type: "reasoning.encrypted", data, format: formatOfClaude, index };
}

/**
 * The blocks of OpenRouter's `reasoning_details` that Anthropic requires back. A stream's details
 * may be in pieces, the signature last.
 */
export function blocksOfDetails(details: unknown): JsonObject[] {
  const blocks: JsonObject[] = [];
  let thinking = "";
  for (const detail of Array.isArray(details) ? (details as readonly unknown[]) : []) {
    if (!isObject(detail) || detail["format"] !== formatOfClaude) continue;
    const { type, text, signature, data } = detail;
    if (type === "reasoning.encrypted" && typeof data === "string")
      blocks.push({ type: "redacted_thinking", data });
    if (type !== "reasoning.text") continue;
    if (typeof text === "string") thinking += text;
    if (typeof signature !== "string" || signature === "") continue;
    blocks.push({ type: "thinking", thinking, signature });
    thinking = "";
  }
  return blocks.filter((block) => mustBeReturned(block) && !carriesReasoning(block));
}

/**
 * OpenAI's encrypted reasoning, which OpenAI wants back with the next request. Clients of the other
 * dialects carry it as the signature of a thinking block, or as the data of a redacted one. Only
 * the provider that encrypted it can read it, so the provider's name precedes it.
 */
const carriedPrefix = "openai_reasoning:";

/** `thinking`: the summary of the reasoning; empty if the model gave none. */
export function carryReasoning(encrypted: string, thinking: string, provider: string): JsonObject {
  const text = `${carriedPrefix}${encodeURIComponent(provider)}:${encrypted}`;
  return thinking === ""
    ? { type: "redacted_thinking", data: text }
    : { type: "thinking", thinking, signature: text };
}

/** Whether a block carries the reasoning of any provider of the Responses API. */
export function carriesReasoning({ signature, data }: JsonObject): boolean {
  return [signature, data].some(
    (text) => typeof text === "string" && text.startsWith(carriedPrefix),
  );
}

/** The reasoning that this provider encrypted; null if the block carries none. */
export function reasoningCarriedBy(block: JsonObject, provider: string): string | null {
  const data = block["data"] ?? block["signature"];
  const before = `${carriedPrefix}${encodeURIComponent(provider)}:`;
  return typeof data === "string" && data.startsWith(before) ? data.slice(before.length) : null;
}
