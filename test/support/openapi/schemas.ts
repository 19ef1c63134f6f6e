/**
 * Checks values against the schemas of `docs/openapi.json`. In the document the objects of answers
 * are open, for clients of today and answers of tomorrow; here they are closed: a field that isn't
 * described is a problem.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { document, type Schema } from "./document.js";

// Answers have no other offset than Z.
const formats: Readonly<Record<string, RegExp | true>> = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/,
  date: /^\d{4}-\d\d-\d\d$/,
  // For generators of clients; what an integer may be here is in its bounds.
  int64: true,
  binary: true,
};
const ajv = new Ajv2020({
  allErrors: true,
  formats,
  // The document itself is checked elsewhere, once.
  meta: false,
  validateSchema: false,
  strict: false,
});
ajv.addSchema({ components: { schemas: closed(document.components.schemas) } }, "document");

const compiled = new WeakMap<Schema, ValidateFunction>();

/** What is wrong with a value, each problem with its place; empty when nothing is. */
export function problemsOf(schema: Schema, value: unknown): readonly string[] {
  const validate = compiled.get(schema) ?? compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath === "" ? "the body" : instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function compile(schema: Schema): ValidateFunction {
  const text = JSON.stringify(closed(schema)).replaceAll('"#/', '"document#/');
  const validate = ajv.compile(JSON.parse(text) as Schema);
  compiled.set(schema, validate);
  return validate;
}

/** A copy in which an object has the fields that are described, and no others. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== "object" || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, each]) => [name, closed(each)]));
  const isOpen = copy["properties"] === undefined || copy["additionalProperties"] !== undefined;
  return isOpen ? copy : { ...copy, additionalProperties: false };
}
