/** The content of a chat message, from the parts that a translation has made. */
import type { JsonObject } from "../translation/translation.js";

export type ChatContent = string | readonly JsonObject[];

/** A single text becomes a string, as most clients write it and some providers require it. */
export function chatContent(parts: readonly JsonObject[]): ChatContent {
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first["type"] === "text" ? (first["text"] as string) : parts;
}

/** Chat completions have no flag for a failed tool, so the text gets a prefix. */
export function failedContent(content: ChatContent): ChatContent {
  if (typeof content !== "string") return [{ type: "text", text: "Error: " }, ...content];
  return /^\s*error/i.test(content) ? content : `Error: ${content}`;
}
