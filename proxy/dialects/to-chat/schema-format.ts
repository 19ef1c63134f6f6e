/** A JSON schema for the answer as a chat request's `response_format`. */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "../translation/translation.js";

/**
 * OpenAI requires a name. The other dialects always enforce the schema; OpenAI's `strict` is
 * refused for schemas with optional fields.
 */
export function schemaFormat(schema: JsonObject): JsonObject {
  return {
    type: "json_schema",
    json_schema: isStrictSchema(schema)
      ? { name: "answer", schema, strict: true }
      : { name: "answer", schema },
  };
}

/**
 * Whether each object is closed and requires all of its fields, which is what OpenAI wants of a
 * schema with `strict`. Source: platform.openai.com, "Structured outputs", supported schemas.
 */
function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  if (!isObject(schema)) return true;
  const { properties, required } = schema;
  if (schema["type"] === "object" || isObject(properties)) {
    if (schema["additionalProperties"] !== false) return false;
    const names = Object.keys(isObject(properties) ? properties : {});
    const all = new Set(Array.isArray(required) ? required : []);
    if (!names.every((name) => all.has(name))) return false;
  }
  return Object.values(schema).every(isStrictSchema);
}
