/**
 * Makes the schema of a tool's input describe an object: at its top level Anthropic and OpenAI
 * refuse alternatives, and OpenAI also refuses `enum` and `not`.
 */
import { isAbsent } from "../../../shared/checked.js";
import type { RequestReader } from "./request-reader.js";
import type { JsonObject } from "./translation.js";

const refusedAtTop = ["anyOf", "oneOf", "allOf", "enum", "not"];

export function objectSchema(value: unknown, path: string, reader: RequestReader): JsonObject {
  const original = withoutBadId(reader.object(value, path));
  const refused = refusedAtTop.filter((key) => original[key] !== undefined);
  for (const key of refused)
    reader.drop(`${path}.${key}`, "must be left out", "whose tools have one form of input");
  const schema =
    refused.length === 0
      ? original
      : Object.fromEntries(Object.entries(original).filter(([key]) => !refused.includes(key)));
  return isAbsent(schema["type"])
    ? Object.fromEntries([["type", "object"], ...Object.entries(schema)])
    : schema;
}

/**
 * Removes an `$id` that isn't a URI reference, which OpenAI refuses (griptape-ai/griptape#2150).
 */
function withoutBadId(schema: JsonObject): JsonObject {
  const { $id: id, ...rest } = schema;
  return typeof id !== "string" || /^[^\s"<>\\^`{|}]*$/.test(id) ? schema : rest;
}
