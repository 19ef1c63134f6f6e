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

/** The parser's message, which quotes a snippet: parsed as UTF-8, so that it is readable. */
export function whyNotJson(bytes: Buffer): string {
  try {
    JSON.parse(bytes.toString("utf8"));
    return "it is not valid JSON";
  } catch (error) {
    return error instanceof Error ? error.message : "it is not valid JSON";
  }
}
