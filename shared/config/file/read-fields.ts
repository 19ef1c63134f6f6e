/**
 * Reads the fields of one mapping in the file separately, so that an invalid one hides no other.
 * `parse-shape.ts` and `read-limit-lists.ts` define the fields of mappings.
 */
import { isAbsent, isObject, show, showKind } from "../../checked.js";
import { kindProblem, type ValueKind } from "../kinds/value-kind.js";
import { keyPath, readMapping } from "../read-mapping.js";
import type { ReadFields } from "./config-file.js";

/** The value, or the problem as the end of a sentence that begins with the path. */
type FieldSchema<T = unknown> = (
  raw: unknown,
) => { readonly value: T } | { readonly wrong: string };
export type FieldSchemas = Readonly<Record<string, FieldSchema>>;
type Fields<S extends FieldSchemas> = ReadFields<{
  readonly [K in keyof S]: S[K] extends FieldSchema<infer T> ? T : never;
}>;

/** A value in the file and its path. */
export interface LocatedValue {
  readonly raw: unknown;
  readonly path: string;
}

/** A field that the file must give. */
export function required<T>(kind: ValueKind<T>): FieldSchema<T> {
  return (raw) => (isAbsent(raw) ? { wrong: "is required" } : readValue(kind, raw));
}

/** A field that the file may leave out. */
export function optional<T, D>(kind: ValueKind<T>, defaultValue: D): FieldSchema<T | D> {
  return (raw) => (isAbsent(raw) ? { value: defaultValue } : readValue(kind, raw));
}

/** A required list; its items are read separately. */
export function listField(
  expected: string,
  range: { readonly min: number; readonly max: number; readonly noun: string },
): FieldSchema<readonly unknown[]> {
  return (raw) => {
    if (!Array.isArray(raw)) return wrongType(expected, raw);
    return raw.length >= range.min && raw.length <= range.max
      ? { value: raw }
      : { wrong: `must hold from ${range.min} to ${range.max} ${range.noun}, not ${raw.length}` };
  };
}

/** As `listField`, but the file may leave it out. */
export function optionalList(
  expected: string,
  range: Parameters<typeof listField>[1],
): FieldSchema<readonly unknown[]> {
  const readList = listField(expected, range);
  return (raw) => (isAbsent(raw) ? { value: [] } : readList(raw));
}

/** One of `words`, with their letter case; the file may leave it out. */
export function optionalWord<T extends string>(
  words: readonly T[],
  expected: string,
  defaultWord: T,
): FieldSchema<T> {
  return (raw) => {
    const value = isAbsent(raw) ? defaultWord : words.find((word) => word === raw);
    return value === undefined ? wrongType(expected, raw) : { value };
  };
}

/** A required text, unchanged. */
export function textField(expected: string): FieldSchema<string> {
  return (raw) => (typeof raw === "string" ? { value: raw } : wrongType(expected, raw));
}

function readValue<T>(kind: ValueKind<T>, raw: unknown): ReturnType<FieldSchema<T>> {
  const value = kind.parse(raw);
  return value === undefined ? { wrong: kindProblem(kind, "", raw).trimStart() } : { value };
}

/** Quotes the value: `must be a list, not 5`. */
function wrongType(expected: string, raw: unknown): { readonly wrong: string } {
  return {
    wrong: isAbsent(raw) ? "is required" : `${expected}, not ${show(raw)}${listAdvice(raw)}`,
  };
}

/** The advice if a mapping was given instead of a list. */
function listAdvice(raw: unknown): string {
  return isObject(raw) ? ": begin each entry with -" : "";
}

/** The fields; wrong ones are undefined. Null if the value is no mapping. */
export function readFields<S extends FieldSchemas>(
  schemas: S,
  { raw, path }: LocatedValue,
  problems: string[],
): Fields<S> | null {
  const entries = readMapping(raw, path, Object.keys(schemas), problems);
  if (entries === null) return null;
  const fields: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(schemas)) {
    const result = schema(entries[key]);
    fields[key] = "value" in result ? result.value : undefined;
    if ("wrong" in result) problems.push(`${keyPath(path, key)} ${result.wrong}`);
  }
  // Every key of the schemas was set above.
  return fields as Fields<S>;
}

/** The items of a list, each with its path; none if the list is absent or no list. */
export function readItems(
  { raw, path }: LocatedValue,
  problems: string[],
): readonly LocatedValue[] {
  if (isAbsent(raw)) return [];
  if (Array.isArray(raw))
    return raw.map((item: unknown, index) => ({ raw: item, path: `${path}[${index}]` }));
  problems.push(`${path} must be a list, not ${showKind(raw)}${listAdvice(raw)}`);
  return [];
}
