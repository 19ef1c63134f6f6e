/**
 * Reasoning that has to come back with the next request: clients of the Responses API send only
 * what stands in the `encrypted_content` of a reasoning item. OpenAI encrypts it; Sluice has
 * nothing to hide there, and only encodes it: the text, and the signed blocks of Anthropic's
 * models.
 */
import { isObject } from "../../../shared/checked.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import { isThinkingBlock } from "../translation/thinking-blocks.js";
import type { JsonObject } from "../translation/translation.js";

export interface KeptReasoning {
  readonly text: string;
  /** Signed or encrypted; see `thinking-blocks.ts`. */
  readonly blocks: readonly JsonObject[];
}

/** Distinguishes it from what OpenAI encrypted. */
const mark = "sluice_";

/** Whether a client asked for it: without stored responses it has nothing else to send back. */
export function wantsReasoning({ include }: JsonObject): boolean {
  return Array.isArray(include) && include.includes("reasoning.encrypted_content");
}

export function writeKeptReasoning({ text, blocks }: KeptReasoning): string {
  // The signed blocks repeat the text.
  const kept = blocks.length === 0 ? { text } : { blocks };
  return mark + Buffer.from(writeExactly(kept)).toString("base64url");
}

/** Null for what Sluice didn't write. */
export function readKeptReasoning(encrypted: unknown): KeptReasoning | null {
  if (typeof encrypted !== "string" || !encrypted.startsWith(mark)) return null;
  const kept = parseBodyExactly(
    Buffer.from(encrypted.slice(mark.length), "base64url").toString("utf8"),
  );
  if (!isObject(kept)) return null;
  const { text, blocks } = kept;
  const valid = Array.isArray(blocks) ? blocks.filter(isThinkingBlock) : [];
  const ofBlocks = valid.map((block) => block["thinking"] ?? "").join("");
  return { text: typeof text === "string" ? text : ofBlocks, blocks: valid };
}
