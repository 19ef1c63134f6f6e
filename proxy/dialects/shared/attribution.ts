/**
 * Removes the first text of Claude Code's system prompt, which is meant only for Anthropic: who is
 * billed, and a checksum that changes with each request. It would spoil the prompt cache of other
 * makers' models, since it comes first and always differs (anthropics/claude-code#68900,
 * vllm-project/vllm#36829).
 */
import { isObject } from "../../../shared/checked.js";

const mark = "x-anthropic-billing-header:";

/** The system prompt without it; the same value if it has none. */
export function withoutAttribution(system: unknown): unknown {
  if (typeof system === "string") {
    if (!system.startsWith(mark)) return system;
    const end = system.indexOf("\n");
    return end === -1 ? "" : system.slice(end + 1);
  }
  return Array.isArray(system) && isAttribution(system[0]) ? system.slice(1) : system;
}

function isAttribution(block: unknown): boolean {
  return isObject(block) && typeof block["text"] === "string" && block["text"].startsWith(mark);
}
