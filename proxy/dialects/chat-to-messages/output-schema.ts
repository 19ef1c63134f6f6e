/**
 * Changes a schema for a structured answer or a strict tool so that Anthropic's models accept it.
 * Keywords that Anthropic's schemas don't have move to the `description`, as in Anthropic's own
 * SDKs, since an unknown keyword is a 400. Source: docs.claude.com, "Structured outputs", JSON
 * Schema limitations and schema complexity limits.
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

/** What Anthropic limits over all schemas of a request that it enforces. */
export class SchemaBudget {
  /** Strict tools, optional fields, and fields with a choice of types. */
  readonly #left = { tools: 20, optional: 24, unions: 16 };

  /**
   * The schema in the form that Anthropic enforces; null if Anthropic can't enforce it, or if the
   * request's limits are used up. `schema` must not be nested deeper than a body may be.
   */
  take(schema: JsonObject, isTool: boolean): JsonObject | null {
    if (hasMap(schema) || hasEndlessReference(schema)) return null;
    const { optional, unions } = costOf(schema);
    const remaining = this.#left;
    if (isTool && remaining.tools === 0) return null;
    if (optional > remaining.optional || unions > remaining.unions) return null;
    if (isTool) remaining.tools--;
    remaining.optional -= optional;
    remaining.unions -= unions;
    return closedSchema(schema);
  }
}

interface SchemaCost {
  readonly optional: number;
  readonly unions: number;
}

function costOf(value: unknown): SchemaCost {
  if (Array.isArray(value)) return sum(value.map(costOf));
  if (!isObject(value)) return { optional: 0, unions: 0 };
  const { properties, required, type, anyOf, oneOf } = value;
  const fields = Object.keys(isObject(properties) ? properties : {});
  const isNeeded = new Set(Array.isArray(required) ? required : []);
  const isUnion = [type, anyOf, oneOf].some((each) => Array.isArray(each) && each.length > 1);
  const needed = {
    optional: fields.filter((name) => !isNeeded.has(name)).length,
    unions: isUnion ? 1 : 0,
  };
  return sum([needed, ...schemasIn(value).map(costOf)]);
}

function sum(costs: readonly SchemaCost[]): SchemaCost {
  return costs.reduce(
    (all, { optional, unions }) => ({
      optional: all.optional + optional,
      unions: all.unions + unions,
    }),
    { optional: 0, unions: 0 },
  );
}

/** The schemas directly within a schema. */
function schemasIn(schema: JsonObject): readonly unknown[] {
  return Object.entries(schema).flatMap(([keyword, keywordValue]) => {
    if (namedSchemas.has(keyword)) return isObject(keywordValue) ? Object.values(keywordValue) : [];
    const isSchema = keyword === "items" || keyword === "oneOf" || listKeywords.has(keyword);
    return isSchema ? [keywordValue] : [];
  });
}

/**
 * Whether a reference leads to itself, or out of the schema: Anthropic refuses both, while OpenAI
 * and Google enforce recursive schemas (egonSchiele/agency-lang#487).
 */
function hasEndlessReference(root: JsonObject): boolean {
  const checked = new Set<string>();
  const open = new Set<string>();
  const isEndless = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some(isEndless);
    if (!isObject(value)) return false;
    return isEndlessReference(value["$ref"]) || schemasIn(value).some(isEndless);
  };
  const isEndlessReference = (reference: unknown): boolean => {
    if (typeof reference !== "string" || checked.has(reference)) return false;
    if (!reference.startsWith("#/") || open.has(reference)) return true;
    open.add(reference);
    const ends = !isEndless(referredTo(root, reference));
    open.delete(reference);
    checked.add(reference);
    return !ends;
  };
  return isEndless(root);
}

/** The schema that a reference names. `reference`: a JSON pointer after `#`. */
function referredTo(root: JsonObject, reference: string): unknown {
  const names = reference.slice(2).split("/");
  return names.reduce(
    (value: unknown, name) =>
      isObject(value) ? value[name.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined,
    root,
  );
}

/**
 * Whether a schema contains a map: an object whose fields have any name. Anthropic closes every
 * object, so the map could only be empty.
 */
function hasMap(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasMap);
  if (!isObject(value)) return false;
  return isMap(value) || schemasIn(value).some(hasMap);
}

/**
 * Whether a schema describes a map: it has schemas for unnamed fields, or allows them and names
 * none.
 */
function isMap(schema: JsonObject): boolean {
  const { additionalProperties: additional, patternProperties: patterns, properties } = schema;
  const namesNone = !isObject(properties) || Object.keys(properties).length === 0;
  return isObject(additional) || isObject(patterns) || (additional === true && namesNone);
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
    Object.entries(value).map(([name, member]) => [
      name,
      isObject(member) ? closedSchema(member) : member,
    ]),
  );
}

function schemas(value: unknown): unknown {
  return Array.isArray(value)
    ? value.map((element: unknown) => (isObject(element) ? closedSchema(element) : element))
    : value;
}
