/**
 * Reasoning that the client must send back with its next request. Clients of the Responses API send
 * back only the `encrypted_content` of a reasoning item, and clients of Gemini's own API only the
 * signature of a call. OpenAI and Google encrypt it; Sluice, which has nothing to hide, only
 * encodes it: the text, and the signed blocks of Anthropic's models.
 */
import { isObject } from "../../../shared/checked.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import { isThinkingBlock } from "./thinking-blocks.js";
import type { JsonObject } from "./translation.js";

export interface KeptReasoning {
  readonly text: string;
  /** Signed or encrypted blocks; see `thinking-blocks.ts`. */
  readonly blocks: readonly JsonObject[];
}

/** Distinguishes Sluice's content from OpenAI's encrypted content. */
const mark = "sluice_";

/**
 * Whether the client gets the reasoning, to send it back: because it asked, or because it relies on
 * stored responses. Translated responses aren't stored, and a model's maker refuses a conversation
 * that has lost signed reasoning. If the client gets the text already, it needs no second copy.
 */
export function returnsReasoning(
  { include, store }: JsonObject,
  blocks: readonly JsonObject[],
): boolean {
  if (Array.isArray(include) && include.includes("reasoning.encrypted_content")) return true;
  return store !== false && blocks.length > 0;
}

export function writeKeptReasoning(reasoning: KeptReasoning): string {
  return mark + Buffer.from(keptJson(reasoning)).toString("base64url");
}

/** Null if Sluice didn't write it. */
export function readKeptReasoning(encrypted: unknown): KeptReasoning | null {
  if (typeof encrypted !== "string" || !encrypted.startsWith(mark)) return null;
  return parseKeptReasoning(
    Buffer.from(encrypted.slice(mark.length), "base64url").toString("utf8"),
  );
}

/** The same reasoning as the signature of a part in Gemini's own API, which is always in base64. */
export function keptAsSignature(reasoning: KeptReasoning): string {
  return Buffer.from(mark + keptJson(reasoning)).toString("base64");
}

/** Null if Sluice didn't write it. `signature`: in either alphabet of base64. */
export function keptInSignature(signature: string): KeptReasoning | null {
  // Eight characters are six bytes. Checking them first saves decoding other signatures.
  if (Buffer.from(signature.slice(0, 8), "base64").toString("latin1") !== mark.slice(0, 6))
    return null;
  const text = Buffer.from(signature, "base64").toString("utf8");
  return text.startsWith(mark) ? parseKeptReasoning(text.slice(mark.length)) : null;
}

function keptJson({ text, blocks }: KeptReasoning): string {
  // The signed blocks repeat the text.
  return writeExactly(blocks.length === 0 ? { text } : { blocks });
}

function parseKeptReasoning(json: string): KeptReasoning | null {
  const parsed = parseBodyExactly(json);
  if (!isObject(parsed)) return null;
  const { text, blocks } = parsed;
  const valid = Array.isArray(blocks) ? blocks.filter(isThinkingBlock) : [];
  const blocksText = valid.map((block) => block["thinking"] ?? "").join("");
  return { text: typeof text === "string" ? text : blocksText, blocks: valid };
}
