/** The name of a JSON value's type, for messages. */

export type Kind = "null" | "an array" | "an object" | "a string" | "a number" | "a boolean";

/**
 * The type's name with its article. Messages name the type instead of the value, which may be long.
 */
export function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  if (typeof value === "number") return "a number";
  return typeof value === "boolean" ? "a boolean" : "an object";
}

/**
 * The parser's message about a text that was parsed as Latin-1. The message quotes a snippet, which
 * is decoded as UTF-8, and its positions count bytes, so the text needn't be parsed again. `error`:
 * null if the parser got another text.
 */
export function whyNotJson(error: unknown): string {
  return error instanceof Error
    ? Buffer.from(error.message, "latin1").toString("utf8")
    : "it is not valid JSON";
}

/**
 * Whether a value has more than `levels` levels of objects and arrays. A number or a text has none.
 */
export function nestedDeeperThan(value: unknown, levels: number): boolean {
  if (!isNested(value)) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value as unknown[])
      if (isNested(inner) && nestedDeeperThan(inner, levels - 1)) return true;
    return false;
  }
  // Parsed JSON inherits no member that a loop would meet.
  for (const key in value)
    if (nestedDeeperThan((value as Readonly<Record<string, unknown>>)[key], levels - 1))
      return true;
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
