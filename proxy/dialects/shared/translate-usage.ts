/**
 * Translates reported usage to the other dialect's fields. OpenAI's input tokens include those read
 * from and written to a cache, Anthropic's exclude them. `read-usage.ts` interprets the counts, so
 * a client sees the counts that are charged to its limits.
 */
import { isCount, isObject } from "../../../shared/checked.js";
import { readUsage } from "../../usage/read-usage.js";
import type { JsonObject } from "./translation.js";

/** For a chat client. Undefined if the provider reported no usage or an invalid one. */
export function chatUsage(usage: unknown): JsonObject | undefined {
  const reading = readUsage(usage);
  if (reading.kind !== "usage") return undefined;
  const out: Record<string, unknown> = {
    prompt_tokens: reading.inputTokens,
    completion_tokens: reading.outputTokens,
    total_tokens: reading.totalTokens,
    prompt_tokens_details: {
      cached_tokens: reading.cachedInputTokens,
      cache_write_tokens: reading.cacheWriteInputTokens,
    },
  };
  const reasoning =
    detail(usage, "output_tokens_details", "thinking_tokens") ??
    detail(usage, "output_tokens_details", "reasoning_tokens");
  if (reasoning !== null) out["completion_tokens_details"] = { reasoning_tokens: reasoning };
  return out;
}

/**
 * For an Anthropic client, which always expects usage: zeros if the provider reported none or an
 * invalid one. `tier`: the chat answer's `service_tier`, which Anthropic has in the usage.
 */
export function messagesUsage(usage: unknown, tier: unknown): JsonObject {
  const reading = readUsage(usage);
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } =
    reading.kind === "usage" ? reading : none;
  const out: Record<string, unknown> = {
    input_tokens: inputTokens - cachedInputTokens - cacheWriteInputTokens,
    output_tokens: outputTokens,
    cache_read_input_tokens: cachedInputTokens,
    cache_creation_input_tokens: cacheWriteInputTokens,
  };
  const thinking = detail(usage, "completion_tokens_details", "reasoning_tokens");
  if (thinking !== null) out["output_tokens_details"] = { thinking_tokens: thinking };
  const servedTier = messagesTiers.get(tier);
  if (servedTier !== undefined) out["service_tier"] = servedTier;
  return out;
}

/** For a client of Gemini's own API. Undefined if there is no usage or an invalid one. */
export function googleUsage(usage: unknown): JsonObject | undefined {
  const reading = readUsage(usage);
  if (reading.kind !== "usage") return undefined;
  const thoughts = detail(usage, "completion_tokens_details", "reasoning_tokens");
  const out: Record<string, unknown> = {
    promptTokenCount: reading.inputTokens,
    candidatesTokenCount: Math.max(0, reading.outputTokens - (thoughts ?? 0)),
    totalTokenCount: reading.totalTokens,
  };
  if (reading.cachedInputTokens > 0) out["cachedContentTokenCount"] = reading.cachedInputTokens;
  if (thoughts !== null) out["thoughtsTokenCount"] = thoughts;
  return out;
}

const none = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteInputTokens: 0 };
const messagesTiers: ReadonlyMap<unknown, string> = new Map([
  ["default", "standard"],
  ["priority", "priority"],
  ["fast", "priority"],
]);
const chatTiers: ReadonlyMap<unknown, string> = new Map([
  ["standard", "default"],
  ["priority", "priority"],
]);

/**
 * The `service_tier` of a chat completion, from Anthropic's usage. Undefined if chat completions
 * have no counterpart.
 */
export function chatServiceTier(usage: unknown): string | undefined {
  if (!isObject(usage)) return undefined;
  return usage["speed"] === "fast" ? "priority" : chatTiers.get(usage["service_tier"]);
}

function detail(usage: unknown, details: string, field: string): number | null {
  const inner = isObject(usage) ? usage[details] : null;
  const count = isObject(inner) ? inner[field] : null;
  return isCount(count) ? count : null;
}
