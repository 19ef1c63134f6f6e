/** The kinds of values that are fields of a request's body. */
import { isObject } from "../../checked.js";
import { fixedFields, type SetField } from "../model-overrides.js";
import { listOf } from "./list-kinds.js";
import { textOf } from "./text-kinds.js";
import { always, type ValueKind } from "./value-kind.js";

const fieldsMax = 32;
/** The bound on the fields' JSON, since each request to the model includes it. */
const jsonBytesMax = 16_384;
const depthMax = 16;

const fieldName = /^[A-Za-z_][\w.-]{0,63}$/;
const without = `without ${[...fixedFields].join(", ")}`;

function isFieldName(name: string): boolean {
  return fieldName.test(name) && !fixedFields.has(name) && name !== "__proto__";
}

/** Fields with their values, as JSON. */
export const bodyFields: ValueKind<readonly SetField[]> = {
  label: "mapping",
  range: `at most ${fieldsMax}, values of at most ${jsonBytesMax} bytes, ${depthMax} deep`,
  expected: `must be a mapping of at most ${fieldsMax} fields of a body to values that JSON has, ${without}`,
  quotable: always,
  parse: (raw) => {
    if (!isObject(raw) || Object.keys(raw).length > fieldsMax) return undefined;
    const fields: SetField[] = [];
    for (const [name, value] of Object.entries(raw)) {
      if (!isFieldName(name) || !isJson(value, depthMax)) return undefined;
      const json = asciiJson(value);
      if (json.length > jsonBytesMax) return undefined;
      fields.push({ name, json });
    }
    return fields;
  },
  schema: { type: "object", maxProperties: fieldsMax },
};

/** Names of fields. */
export const bodyFieldNames = listOf(
  `must be a list of at most ${fieldsMax} fields of a body, ${without}`,
  (raw) => {
    const name = textOf(raw);
    return name !== undefined && isFieldName(name) ? name : undefined;
  },
  { itemsMin: 1, itemsMax: fieldsMax },
);

function isJson(value: unknown, depthLeft: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (depthLeft === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depthLeft - 1));
  return isObject(value) && Object.values(value).every((item) => isJson(item, depthLeft - 1));
}

/** JSON in ASCII. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
