/**
 * Converts a schema of Gemini's own API, a subset of OpenAPI 3.0, to JSON Schema. Its types are
 * names in capital letters, its counts are texts, and a field of its own allows null.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { JsonObject } from "../shared/translation.js";
import { camelFields } from "./google-request-fields.js";

/** `schema` must not be nested too deeply. A value that isn't a schema stays unchanged. */
export function jsonSchemaOf(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(camelFields(schema))) {
    if (isAbsent(value) || ignoredKeywords.has(name)) continue;
    out[name] = fieldOf(name, value);
  }
  return schema["nullable"] === true ? withNull(out) : out;
}

/** Keywords that JSON Schema doesn't have and that models don't need. */
const ignoredKeywords: ReadonlySet<string> = new Set(["nullable", "propertyOrdering"]);

const countNames: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);

function fieldOf(name: string, value: unknown): unknown {
  if (name === "type" && typeof value === "string") return value.toLowerCase();
  if (name === "properties" && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([property, schema]) => [property, jsonSchemaOf(schema)]),
    );
  if (name === "items" || name === "additionalProperties") return jsonSchemaOf(value);
  if (name === "anyOf" && Array.isArray(value)) return value.map(jsonSchemaOf);
  // A 64-bit count is a text in JSON.
  if (countNames.has(name) && typeof value === "string" && /^\d{1,15}$/.test(value))
    return Number(value);
  return value;
}

function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  if (typeof type !== "string") return schema;
  const out: Record<string, unknown> = { ...schema, type: [type, "null"] };
  if (Array.isArray(values)) out["enum"] = [...values, null];
  return out;
}
