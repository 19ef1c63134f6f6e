/** The name of a JSON value's type, for messages. */

export type Kind = "null" | "an array" | "an object" | "a string" | "a number" | "a boolean";

/** With its article. Messages name the type and don't quote the value, which may be long. */
export function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  if (typeof value === "number") return "a number";
  return typeof value === "boolean" ? "a boolean" : "an object";
}

/**
 * The parser's message about a text in Latin-1. It quotes a snippet, which is UTF-8, and counts
 * bytes: the text isn't parsed again as something else for it. `error`: null where the parser was
 * given another text.
 */
export function whyNotJson(error: unknown): string {
  return error instanceof Error
    ? Buffer.from(error.message, "latin1").toString("utf8")
    : "it is not valid JSON";
}
