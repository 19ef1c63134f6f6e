/**
 * Bodies made of the schemas of requests in `docs/openapi.json`: right ones, and ones with a single
 * fault that the schema forbids.
 */
import fc from "fast-check";
import { document, resolved, type Schema } from "./document.js";

type Fields = Record<string, unknown>;

/**
 * A value that the schema allows. Texts are plain: what they may hold is said in words. Fields that
 * exclude or need each other are in any combination: `problemsOf` tells which are allowed.
 */
export function anyBody(schema: Schema): fc.Arbitrary<unknown> {
  const { anyOf, enum: words, ...own } = { ...resolved(schema), ...schema };
  if (words !== undefined) return fc.constantFrom(...(words as readonly unknown[]));
  if (anyOf !== undefined && own["properties"] === undefined)
    return fc.oneof(...(anyOf as readonly Schema[]).map(anyBody));
  const types = typesOf(own);
  return fc.oneof(...types.map((type) => ofType(type, own)));
}

/** A schema that says no type takes everything, a text too. */
function typesOf({ type = "string" }: Schema): readonly string[] {
  return typeof type === "string" ? [type] : (type as readonly string[]);
}

const word = /^[A-Za-z0-9_-]{1,20}$/;
const userPath = fc
  .array(fc.stringMatching(word), { maxLength: 5 })
  .map((segments) => `/${segments.join("/")}`);

function ofType(type: string, schema: Schema): fc.Arbitrary<unknown> {
  const { minimum: min, maximum: max } = schema as { minimum?: number; maximum?: number };
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: min!, max: max! });
    case "number":
      return fc.double({ min: min!, max: max!, noNaN: true });
    case "array":
      return fc.array(anyBody(schema["items"] as Schema), {
        minLength: (schema["minItems"] as number | undefined) ?? 0,
        maxLength: (schema["maxItems"] as number | undefined) ?? 5,
      });
    case "object":
      return anyObject(schema);
    default:
      return anyString(schema);
  }
}

function anyString({ format, pattern }: Schema): fc.Arbitrary<unknown> {
  if (format === "date")
    return fc
      .date({ min: new Date("2100-01-01"), max: new Date("2200-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 10));
  if (format === "date-time")
    return fc
      .date({ min: new Date("2100-01-01"), max: new Date("2200-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
  if (pattern === pathPattern) return userPath;
  const isPlain = pattern === undefined || pattern === notBlank;
  return fc.stringMatching(isPlain ? word : new RegExp(String(pattern)));
}

const notBlank = "\\S";
const pathPattern = document.components.schemas["UserPath"]!["pattern"];

/**
 * With half of the optional fields, or a fifth: the more fields a body has, the likelier two of
 * them exclude each other.
 */
function anyObject(schema: Schema): fc.Arbitrary<unknown> {
  const properties = schema["properties"] as Readonly<Record<string, Schema>> | undefined;
  if (properties === undefined) {
    const values = anyBody(schema["additionalProperties"] as Schema);
    return fc.dictionary(fc.stringMatching(word), values, { maxKeys: 1 });
  }
  const arbitraries = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, anyBody(each)]),
  );
  const required = (schema["required"] as string[] | undefined) ?? [];
  const sparse = Object.fromEntries(
    Object.entries(arbitraries).map(([name, each]) => [
      name,
      required.includes(name)
        ? each
        : fc.oneof(
            { weight: 4, arbitrary: fc.constant(undefined) },
            { weight: 1, arbitrary: each },
          ),
    ]),
  );
  return fc.oneof(
    fc.record(arbitraries, { requiredKeys: required }),
    fc.record(sparse).map(withoutUndefined),
  );
}

function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** A body with one fault, and the field that a refusal must name. */
interface Faulty {
  readonly body: unknown;
  readonly field: string;
  readonly fault: string;
}

/** Every single fault of a body: in each of its fields, one too many, one too few. */
export function faultsOf(schema: Schema, body: Fields, at = ""): readonly Faulty[] {
  const { properties = {}, required = [] } = resolved(schema) as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  const faults: Faulty[] = [
    { body: { ...body, zzz: 1 }, field: `${at}zzz`, fault: "an unknown field" },
  ];
  for (const name of required) {
    const { [name]: _, ...rest } = body;
    faults.push({ body: rest, field: at + name, fault: "nothing" });
  }
  for (const [name, property] of Object.entries(properties)) {
    const field = at + name;
    if (body[name] === undefined) continue;
    for (const wrong of wrongValues(property))
      faults.push({ body: { ...body, [name]: wrong }, field, fault: JSON.stringify(wrong) });
    const value = body[name];
    if (isFields(value))
      for (const inner of faultsOf(property, value, `${field}.`))
        faults.push({ ...inner, body: { ...body, [name]: inner.body } });
  }
  return faults;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Values that a field's schema forbids. */
function wrongValues(property: Schema): readonly unknown[] {
  const schema = { ...resolved(property), ...property };
  const anyOf = schema["anyOf"] as readonly Schema[] | undefined;
  const branches = anyOf?.map((each) => ({ ...resolved(each), ...each })) ?? [];
  const types = [schema["type"] ?? branches.map(({ type }) => type)].flat(2);
  // One that says no type takes everything.
  if (types.filter((type) => type !== undefined).length === 0) return [];
  const isText = types.includes("string");
  const { minimum, maximum, minLength, maxLength, pattern, format, minItems, maxItems } = {
    ...branches[0],
    ...schema,
  } as Readonly<Record<string, number | undefined>>;
  const isClosed = schema["enum"] !== undefined || String(pattern).startsWith("^(?:");
  const words = [schema, ...branches].flatMap(
    (each) => (each["enum"] as unknown[] | undefined) ?? [],
  );
  return [
    ...(types.includes("null") || words.includes(null) ? [] : [null]),
    ...(types.includes("object") ? [] : [{ a: 1 }]),
    ...(types.includes("array") ? [] : [["a"]]),
    ...(types.includes("boolean") ? [] : [true]),
    ...(isText ? [] : ["a"]),
    ...(types.includes("number") || types.includes("integer") ? [] : [1]),
    ...(types.includes("integer") ? [1.5] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : [maximum * 2]),
    ...(isText && minLength !== undefined ? [""] : []),
    ...(isText && maxLength !== undefined ? ["a".repeat(maxLength + 1)] : []),
    ...(isText && (isClosed || format !== undefined) ? ["no such"] : []),
    ...(isText && String(pattern) === notBlank ? [" "] : []),
    ...(minItems === undefined ? [] : [[]]),
    ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, (_, i) => `a${i}`)]),
  ];
}
