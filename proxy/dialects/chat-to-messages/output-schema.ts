/**
 * A schema for a structured answer, as Anthropic's models take it: constraints that its schemas
 * don't have are told in the `description` beside them, as Anthropic's own SDKs do, since an
 * unknown keyword is a 400. Source: docs.claude.com, "Structured outputs", JSON Schema limitations.
 */
import { isObject } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import type { JsonObject } from "../shared/translation.js";

/** Keywords without a meaning that Anthropic enforces, by the kind of value they constrain. */
const untaken: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "maxItems",
  "uniqueItems",
  "minContains",
  "maxContains",
  "minProperties",
  "maxProperties",
]);

/** Keywords whose values are schemas, by name or in a list. */
const named: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const listed: ReadonlySet<string> = new Set(["anyOf", "allOf", "prefixItems"]);

/** The texts of `format` that Anthropic knows. */
const formats: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);

/** `schema` is nested at most as deep as a body may be. */
export function outputSchema(schema: JsonObject): JsonObject {
  const out: Record<string, unknown> = {};
  const told: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (isUntaken(keyword, value)) told.push(`${keyword}: ${writeExactly(value)}`);
    else if (keyword === "$schema" || keyword === "__proto__") continue;
    else if (keyword === "oneOf") out["anyOf"] = schemas(value);
    else if (named.has(keyword) && isObject(value)) out[keyword] = byName(value);
    else if (listed.has(keyword)) out[keyword] = schemas(value);
    else if (keyword === "items" && isObject(value)) out[keyword] = outputSchema(value);
    else out[keyword] = value;
  }
  // Anthropic wants every object closed.
  if (isObjectSchema(schema)) out["additionalProperties"] = false;
  if (told.length === 0) return out;
  const { description } = schema;
  const words = `(${told.join(", ")})`;
  out["description"] = typeof description === "string" ? `${description} ${words}` : words;
  return out;
}

function isUntaken(keyword: string, value: unknown): boolean {
  if (keyword === "format") return !formats.has(value);
  if (keyword === "minItems") return value !== 0 && value !== 1;
  return untaken.has(keyword);
}

function isObjectSchema(schema: JsonObject): boolean {
  return schema["type"] === "object" || isObject(schema["properties"]);
}

function byName(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, isObject(each) ? outputSchema(each) : each]),
  );
}

function schemas(value: unknown): unknown {
  return Array.isArray(value)
    ? value.map((each: unknown) => (isObject(each) ? outputSchema(each) : each))
    : value;
}
