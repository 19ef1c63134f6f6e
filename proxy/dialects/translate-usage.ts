/**
 * The usage that an answer tells, in the other dialect's fields. What a count means is `read-usage.ts`'s
 * answer, so a client is told what its limits are charged: OpenAI's input holds what a cache read and
 * wrote, Anthropic's comes beside it.
 */
import { isCount, isObject } from "../../shared/assert.js";
import { readUsage } from "../read-usage.js";
import type { JsonObject } from "./translation.js";

/** For a chat client; undefined when none was told, or nonsense. */
export function chatUsage(usage: unknown): JsonObject | undefined {
  const reading = readUsage(usage);
  if (reading.kind !== "usage") return undefined;
  const out: Record<string, unknown> = {
    prompt_tokens: reading.inputTokens,
    completion_tokens: reading.outputTokens,
    total_tokens: reading.totalTokens,
    prompt_tokens_details: { cached_tokens: reading.cachedInputTokens, cache_write_tokens: reading.cacheWriteInputTokens },
  };
  const reasoning = detail(usage, "output_tokens_details", "thinking_tokens");
  if (reasoning !== null) out["completion_tokens_details"] = { reasoning_tokens: reasoning };
  return out;
}

/** For a client of Anthropic's, which always reads one: zeros when none was told, or nonsense. */
export function messagesUsage(usage: unknown): JsonObject {
  const reading = readUsage(usage);
  if (reading.kind !== "usage") return { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const out: Record<string, unknown> = {
    input_tokens: reading.inputTokens - reading.cachedInputTokens - reading.cacheWriteInputTokens,
    output_tokens: reading.outputTokens,
    cache_read_input_tokens: reading.cachedInputTokens,
    cache_creation_input_tokens: reading.cacheWriteInputTokens,
  };
  const thinking = detail(usage, "completion_tokens_details", "reasoning_tokens");
  if (thinking !== null) out["output_tokens_details"] = { thinking_tokens: thinking };
  return out;
}

/** Anthropic tells a stream's usage at its start and again at its end, with what has changed by then; a null says nothing. */
export function mergeMessagesUsage(earlier: unknown, later: unknown): unknown {
  if (!isObject(earlier) || !isObject(later)) return later ?? earlier;
  const merged: Record<string, unknown> = {};
  for (const usage of [earlier, later]) for (const key in usage) if (usage[key] !== null) merged[key] = usage[key];
  return merged;
}

function detail(usage: unknown, details: string, field: string): number | null {
  const inner = isObject(usage) ? usage[details] : null;
  const count = isObject(inner) ? inner[field] : null;
  return isCount(count) ? count : null;
}
