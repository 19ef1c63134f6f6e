/**
 * Checks values against the schemas of `docs/openapi.json`. In the document the objects of answers
 * are open, for clients of today and answers of tomorrow; here they are closed: a field that isn't
 * described is a problem. It knows the keywords that the document uses and is checked against ajv,
 * which would cost each process of the tests a fifth of a second of CPU.
 */
import { resolved, type Schema } from "./document.js";

interface Place {
  readonly schema: Schema;
  readonly at: string;
}

/** What is wrong with a value, each problem with its place; empty when nothing is. */
export function problemsOf(schema: Schema, value: unknown, at = ""): readonly string[] {
  const problems: string[] = [];
  for (const [keyword, expected] of Object.entries(schema)) {
    const check = keywords[keyword];
    if (check === undefined) throw new Error(`schemas.ts doesn't know the keyword ${keyword}`);
    // The validator of the document has seen that each keyword has its kind of value.
    problems.push(...check(expected as never, value, { schema, at }));
  }
  return problems;
}

type Check = (expected: never, value: unknown, place: Place) => readonly string[];
type Fields = Readonly<Record<string, unknown>>;

const none: readonly string[] = [];

function said({ at }: Place, isWrong: boolean, what: string): readonly string[] {
  return isWrong ? [`${at === "" ? "the body" : at} ${what}`] : none;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

// Answers have no other offset than Z. The others are for generators of clients.
const formats: Readonly<Record<string, RegExp>> = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/,
  date: /^\d{4}-\d\d-\d\d$/,
  int64: /^/,
  binary: /^/,
};

const patterns = new Map<string, RegExp>();

function patternOf(text: string): RegExp {
  const known = patterns.get(text) ?? new RegExp(text, "u");
  patterns.set(text, known);
  return known;
}

const annotation: Check = () => none;

const keywords: Readonly<Record<string, Check>> = {
  description: annotation,
  default: annotation,
  examples: annotation,
  $ref: ($ref: string, value, { at }) => problemsOf(resolved<Schema>({ $ref }), value, at),
  type: (types: string | readonly string[], value, place) => {
    const type = typeOf(value);
    const isRight = [types]
      .flat()
      .some((each) => each === type || (each === "number" && type === "integer"));
    return said(place, !isRight, `must be ${[types].flat().join(" or ")}`);
  },
  const: (only: unknown, value, place) => said(place, value !== only, `must be ${String(only)}`),
  enum: (words: readonly unknown[], value, place) =>
    said(place, !words.includes(value), `must be equal to one of ${words.join(", ")}`),
  pattern: (text: string, value, place) =>
    said(
      place,
      typeof value === "string" && !patternOf(text).test(value),
      `must have the pattern ${text}`,
    ),
  format: (name: string, value, place) =>
    said(place, typeof value === "string" && !formats[name]!.test(value), `must be a ${name}`),
  minLength: (min: number, value, place) =>
    said(
      place,
      typeof value === "string" && [...value].length < min,
      `must have ${min} characters`,
    ),
  maxLength: (max: number, value, place) =>
    said(
      place,
      typeof value === "string" && [...value].length > max,
      `must have at most ${max} characters`,
    ),
  minimum: (min: number, value, place) =>
    said(place, typeof value === "number" && value < min, `must be at least ${min}`),
  maximum: (max: number, value, place) =>
    said(place, typeof value === "number" && value > max, `must be at most ${max}`),
  minItems: (min: number, value, place) =>
    said(place, Array.isArray(value) && value.length < min, `must have ${min} items`),
  maxItems: (max: number, value, place) =>
    said(place, Array.isArray(value) && value.length > max, `must have at most ${max} items`),
  minProperties: (min: number, value, place) =>
    said(place, isFields(value) && Object.keys(value).length < min, `must have ${min} fields`),
  maxProperties: (max: number, value, place) =>
    said(
      place,
      isFields(value) && Object.keys(value).length > max,
      `must have at most ${max} fields`,
    ),
  required: (names: readonly string[], value, place) =>
    isFields(value)
      ? names.flatMap((name) =>
          said(place, !Object.hasOwn(value, name), `must have required property '${name}'`),
        )
      : none,
  items: (items: Schema, value, { at }) =>
    Array.isArray(value) ? value.flatMap((each, i) => problemsOf(items, each, `${at}/${i}`)) : none,
  properties: (properties: Readonly<Record<string, Schema>>, value, place) => {
    if (!isFields(value)) return none;
    const isClosed = place.schema["additionalProperties"] === undefined;
    return Object.entries(value).flatMap(([name, each]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (property !== undefined) return problemsOf(property, each, `${place.at}/${name}`);
      return said(place, isClosed, `must not have the field ${name}`);
    });
  },
  additionalProperties: (others: boolean | Schema, value, { schema, at }) => {
    if (!isFields(value) || others === true) return none;
    const known = (schema["properties"] ?? {}) as Fields;
    return Object.entries(value).flatMap(([name, each]) => {
      if (Object.hasOwn(known, name)) return none;
      return others === false
        ? said({ schema, at }, true, `must not have the field ${name}`)
        : problemsOf(others, each, `${at}/${name}`);
    });
  },
  not: (forbidden: Schema, value, place) =>
    said(place, problemsOf(forbidden, value).length === 0, "must not be so"),
  oneOf: (branches: readonly Schema[], value, { schema, at }) => {
    const fitting = branches.filter((each) => problemsOf(each, value).length === 0);
    return said({ schema, at }, fitting.length !== 1, `must be one of ${branches.length}`);
  },
  anyOf: (branches: readonly Schema[], value, { at }) => {
    const all = branches.map((each) => problemsOf(each, value, at));
    return all.some((problems) => problems.length === 0) ? none : all.flat();
  },
};
