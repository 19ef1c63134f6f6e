/** Shapes of JSON values, checked strictly: an unknown field is refused by name. */

export type Json = Readonly<Record<string, unknown>>;

/** What is wrong with a value, with the place where it is; null if it has the shape. */
export type Shape = (value: unknown, at: string) => string | null;

export interface OptionalShape {
  readonly optional: Shape;
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

const named = (at: string): string => (at === "" ? "the body" : at);

function primitive(type: "string" | "boolean"): Shape {
  return (value, at) => (typeof value === type ? null : `${named(at)} must be a ${type}`);
}

export const text = primitive("string");
export const flag = primitive("boolean");

export const anything: Shape = () => null;

export const anyObject: Shape = (value, at) =>
  isJson(value) ? null : `${named(at)} must be an object`;

export function numberIn(min: number, max: number): Shape {
  return (value, at) =>
    typeof value === "number" && value >= min && value <= max
      ? null
      : `${named(at)} must be a number from ${min} to ${max}, not ${JSON.stringify(value)}`;
}

export function integerIn(min: number, max: number): Shape {
  const inRange = numberIn(min, max);
  return (value, at) => (Number.isInteger(value) ? inRange(value, at) : `${at} must be an integer`);
}

export function textLike(pattern: RegExp): Shape {
  return (value, at) =>
    typeof value === "string" && pattern.test(value)
      ? null
      : `${named(at)} must match ${pattern.source}, not ${JSON.stringify(value)}`;
}

export function oneOf(...values: readonly unknown[]): Shape {
  return (value, at) =>
    values.includes(value)
      ? null
      : `${named(at)} must be one of ${values.join(", ")}, not ${JSON.stringify(value)}`;
}

export function arrayOf(item: Shape, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Shape {
  return (value, at) => {
    if (!Array.isArray(value)) return `${named(at)} must be an array`;
    if (value.length < min || value.length > max)
      return `${named(at)} must have ${min} to ${max} items, not ${value.length}`;
    for (const [i, element] of value.entries()) {
      const problem = item(element, `${at}[${i}]`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

export function either(...shapes: readonly Shape[]): Shape {
  return (value, at) => {
    const problems = shapes.map((shape) => shape(value, at));
    return problems.includes(null) ? null : problems.join(", or ");
  };
}

export function optional(shape: Shape): OptionalShape {
  return { optional: shape };
}

/** For a field that may be null too. */
export function nullable(shape: Shape): OptionalShape {
  return optional((value, at) => (value === null ? null : shape(value, at)));
}

export type FieldShapes = Readonly<Record<string, Shape | OptionalShape>>;

/** An object with these fields and no others. */
export function objectOf(fields: FieldShapes): Shape {
  return (value, at) => {
    if (!isJson(value)) return `${named(at)} must be an object`;
    const place = (name: string): string => (at === "" ? name : `${at}.${name}`);
    for (const name of Object.keys(value))
      if (!Object.hasOwn(fields, name)) return `${place(name)}: unknown field`;
    for (const [name, shape] of Object.entries(fields)) {
      const isOptional = typeof shape !== "function";
      if (value[name] === undefined) {
        if (!isOptional) return `${place(name)} is missing`;
        continue;
      }
      const problem = (isOptional ? shape.optional : shape)(value[name], place(name));
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** An object whose shape depends on one of its fields, such as `role` or `type`. */
export function variantOf(field: string, variants: Readonly<Record<string, FieldShapes>>): Shape {
  const shapes = new Map(
    Object.entries(variants).map(([name, fields]) => [
      name,
      objectOf({ [field]: oneOf(name), ...fields }),
    ]),
  );
  return (value, at) => {
    if (!isJson(value)) return `${named(at)} must be an object`;
    const shape = shapes.get(String(value[field]));
    return shape === undefined
      ? `${at === "" ? field : `${at}.${field}`} must be one of ${[...shapes.keys()].join(", ")}, not ${JSON.stringify(value[field])}`
      : shape(value, at);
  };
}

/** A rule that a provider holds requests to, with where that is said. */
export interface Rule {
  readonly source: string;
  /** What is wrong with the request, or null. */
  problem(body: Json, headers: Json): string | null;
}

/** The first thing that is wrong. */
export function firstProblem(body: Json, headers: Json, rules: readonly Rule[]): string | null {
  for (const rule of rules) {
    const problem = rule.problem(body, headers);
    if (problem !== null) return `${problem} [${rule.source}]`;
  }
  return null;
}
