/**
 * Splits a tool result for chat completions: a tool message can't hold images and files, so they go
 * into the next user message, after a line that says where they come from.
 */
import type { JsonObject } from "./translation.js";

interface ToolResult {
  /** For the tool message. */
  readonly texts: readonly JsonObject[];
  /** For the next user message. */
  readonly attached: readonly JsonObject[];
}

/** `parts` are chat content parts. */
export function splitToolResult(parts: readonly JsonObject[], callId: string): ToolResult {
  const texts = parts.filter((part) => part["type"] === "text");
  if (texts.length === parts.length) return { texts, attached: [] };
  return {
    texts:
      texts.length > 0
        ? texts
        : [{ type: "text", text: "The result is in the next message of the user." }],
    attached: [
      { type: "text", text: `Part of the result of the tool call ${callId}:` },
      ...parts.filter((part) => part["type"] !== "text"),
    ],
  };
}
