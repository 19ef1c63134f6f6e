/**
 * Changes a schema for a structured answer or a strict tool so that Anthropic's models accept it.
 * Keywords that Anthropic's schemas don't have move to the `description`, as in Anthropic's own
 * SDKs, since an unknown keyword is a 400. Source: docs.claude.com, "Structured outputs", JSON
 * Schema limitations.
 */
import { isObject } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import type { JsonObject } from "../shared/translation.js";

/** Keywords that Anthropic accepts and whose values aren't schemas. */
const accepted: ReadonlySet<string> = new Set([
  "type",
  "title",
  "description",
  "enum",
  "const",
  "default",
  "required",
  "$ref",
]);

/** Keywords whose values are schemas: by name, and in a list. */
const namedSchemas: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const listKeywords: ReadonlySet<string> = new Set(["anyOf", "allOf"]);

/** Keywords that don't constrain the value. */
const silent: ReadonlySet<string> = new Set(["$schema", "$id", "$comment", "__proto__"]);

/** The values of `format` that Anthropic supports. */
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

/**
 * Null for a schema with a map, an object whose fields have any name: Anthropic closes every
 * object, so the map could only be empty. `schema` must not be nested deeper than a body may be.
 */
export function outputSchema(schema: JsonObject): JsonObject | null {
  return hasMap(schema) ? null : closedSchema(schema);
}

/** Whether a schema, or one within it, is of a map. */
export function hasMap(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasMap);
  if (!isObject(value)) return false;
  if (isMap(value)) return true;
  for (const [keyword, each] of Object.entries(value)) {
    if (namedSchemas.has(keyword)) {
      if (isObject(each) && Object.values(each).some(hasMap)) return true;
    } else if (keyword === "items" || keyword === "oneOf" || listKeywords.has(keyword)) {
      if (hasMap(each)) return true;
    }
  }
  return false;
}

/**
 * Whether a schema describes a map: it has schemas for unnamed fields, or allows them and names
 * none.
 */
function isMap(schema: JsonObject): boolean {
  const { additionalProperties: others, patternProperties: patterns, properties } = schema;
  const namesNone = !isObject(properties) || Object.keys(properties).length === 0;
  return isObject(others) || isObject(patterns) || (others === true && namesNone);
}

function closedSchema(schema: JsonObject): JsonObject {
  const out: Record<string, unknown> = {};
  const inWords: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (silent.has(keyword) || keyword === "additionalProperties") continue;
    if (keyword === "oneOf") out["anyOf"] = schemas(value);
    else if (namedSchemas.has(keyword) && isObject(value)) out[keyword] = byName(value);
    else if (listKeywords.has(keyword)) out[keyword] = schemas(value);
    else if (keyword === "items" && isObject(value)) out[keyword] = closedSchema(value);
    else if (isAccepted(keyword, value)) out[keyword] = value;
    else inWords.push(`${keyword}: ${writeExactly(value)}`);
  }
  // Anthropic requires every object to be closed.
  if (isObjectSchema(schema)) out["additionalProperties"] = false;
  if (inWords.length === 0) return out;
  const { description } = schema;
  const words = `(${inWords.join(", ")})`;
  out["description"] = typeof description === "string" ? `${description} ${words}` : words;
  return out;
}

function isAccepted(keyword: string, value: unknown): boolean {
  if (keyword === "format") return formats.has(value);
  if (keyword === "minItems") return value === 0 || value === 1;
  return accepted.has(keyword);
}

function isObjectSchema(schema: JsonObject): boolean {
  return schema["type"] === "object" || isObject(schema["properties"]);
}

function byName(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, isObject(each) ? closedSchema(each) : each]),
  );
}

function schemas(value: unknown): unknown {
  return Array.isArray(value)
    ? value.map((element: unknown) => (isObject(element) ? closedSchema(element) : element))
    : value;
}
