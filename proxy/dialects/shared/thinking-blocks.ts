/**
 * Anthropic's thinking blocks. Chat clients get them as `thinking_blocks` beside
 * `reasoning_content`, with the names that LiteLLM established: a list of `{ type: "thinking",
 * thinking, signature }` and `{ type: "redacted_thinking", data }`.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
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
 * The blocks of OpenRouter's `reasoning_details` that Anthropic requires back. A stream may split a
 * detail into pieces, with the signature last.
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
  return blocks.filter((block) => mustBeReturned(block) && !wrapsReasoning(block));
}

/**
 * Prefix of OpenAI's encrypted reasoning, which OpenAI requires back with the next request. Clients
 * of the other dialects return it wrapped: as the signature of a thinking block, or as the data of
 * a redacted one. Only the provider that encrypted it can read it, so the provider's name precedes
 * it.
 */
const wrappedPrefix = "openai_reasoning:";

/** `thinking`: the summary of the reasoning; empty if the model gave none. */
export function wrapReasoning(encrypted: string, thinking: string, provider: string): JsonObject {
  const text = `${wrappedPrefix}${encodeURIComponent(provider)}:${encrypted}`;
  return thinking === ""
    ? { type: "redacted_thinking", data: text }
    : { type: "thinking", thinking, signature: text };
}

/** Whether a block wraps the reasoning of a provider that speaks another dialect. */
export function wrapsReasoning({ signature, data }: JsonObject): boolean {
  return [signature, data].some(
    (text) =>
      typeof text === "string" && (text.startsWith(wrappedPrefix) || text.startsWith(detailPrefix)),
  );
}

/** The reasoning that this provider encrypted; null if the block wraps none. */
export function unwrapReasoning(block: JsonObject, provider: string): string | null {
  const data = block["data"] ?? block["signature"];
  const before = `${wrappedPrefix}${encodeURIComponent(provider)}:`;
  return typeof data === "string" && data.startsWith(before) ? data.slice(before.length) : null;
}

/**
 * Prefix of OpenRouter's `reasoning_details`, which OpenRouter requires back with the calls after
 * them. Clients of the other dialects return a detail wrapped in the same way; only its provider
 * can read it.
 */
const detailPrefix = "reasoning_detail:";

/** Null for a detail that isn't encrypted or signed. */
export function carryDetail(detail: unknown, provider: string): JsonObject | null {
  if (!isObject(detail)) return null;
  const { text: thinking = "", ...rest } = detail;
  const { type, signature, data } = rest;
  const isSigned = type === "reasoning.text" && typeof signature === "string" && signature !== "";
  const isEncrypted = type === "reasoning.encrypted" && typeof data === "string" && data !== "";
  if (!isSigned && !isEncrypted) return null;
  const coded = Buffer.from(writeExactly(rest)).toString("base64url");
  const text = `${detailPrefix}${encodeURIComponent(provider)}:${coded}`;
  return isEncrypted
    ? { type: "redacted_thinking", data: text }
    : { type: "thinking", thinking: typeof thinking === "string" ? thinking : "", signature: text };
}

/** The details that these blocks carry for this provider. */
export function detailsCarriedBy(blocks: unknown, provider: string): readonly JsonObject[] {
  if (!Array.isArray(blocks)) return [];
  const before = `${detailPrefix}${encodeURIComponent(provider)}:`;
  return (blocks as readonly unknown[]).flatMap((block) => {
    if (!isObject(block)) return [];
    const text = block["data"] ?? block["signature"];
    if (typeof text !== "string" || !text.startsWith(before)) return [];
    const detail = parseJson(Buffer.from(text.slice(before.length), "base64url").toString());
    if (!isObject(detail)) return [];
    return [block["type"] === "thinking" ? { ...detail, text: block["thinking"] } : detail];
  });
}

/**
 * A signed block with its thinking, which a stream may have sent before the signature. `thoughts`:
 * all thinking so far, including that of the earlier blocks.
 */
export function withThinking(
  block: JsonObject,
  thoughts: string,
  earlier: readonly JsonObject[],
): JsonObject {
  if (block["thinking"] !== "") return block;
  const earlierChars = earlier.reduce(
    (chars, { thinking }) => chars + (typeof thinking === "string" ? thinking.length : 0),
    0,
  );
  return { ...block, thinking: thoughts.slice(earlierChars) };
}
