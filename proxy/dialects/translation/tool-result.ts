/**
 * The result of a tool as chat completions can say it: a tool's message can't hold pictures and
 * files, so they are put to what the user says next, behind a line that says where they come from.
 */
import type { JsonObject } from "./translation.js";

export interface ToolResult {
  /** For the tool's message. */
  readonly texts: readonly JsonObject[];
  /** For the user's. */
  readonly attached: readonly JsonObject[];
}

/** `parts` are those of a chat message. */
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
