/**
 * Reads the fields of one mapping in the file, each by itself, so that a wrong one hides no other.
 * The only file that knows valibot. Which fields a mapping has is in `parse-shape.ts` and
 * `read-limit-lists.ts`.
 */

import * as v from "valibot";
import { isAbsent, isObject, show, showKind } from "../../checked.js";
import { append } from "../../long-lists.js";
import { kindProblem, type ValueKind } from "../kinds/value-kind.js";
import { keyPath, readMapping } from "../read-mapping.js";
import type { ReadFields } from "./config-file.js";

/** How one field is checked; the type is that of its value. */
type FieldSchema<T = unknown> = v.GenericSchema<unknown, T>;
export type FieldSchemas = Readonly<Record<string, FieldSchema>>;
type Fields<S extends FieldSchemas> = ReadFields<{
  readonly [K in keyof S]: v.InferOutput<S[K]>;
}>;

/** A value in the file and its path. */
export interface Located {
  readonly raw: unknown;
  readonly at: string;
}

/** A field that the file must give. */
export function required<T>(kind: ValueKind<T>): FieldSchema<T> {
  return v.pipe(
    v.unknown(),
    v.check((raw) => !isAbsent(raw), "is required"),
    ofKind(kind),
  );
}

/** A field that the file may leave out. */
export function optional<T, D>(kind: ValueKind<T>, defaultValue: D): FieldSchema<T | D> {
  return ofKind<T | D>({
    ...kind,
    parse: (raw) => (isAbsent(raw) ? defaultValue : kind.parse(raw)),
  });
}

/** A required list; its items are read by themselves. */
export function listField(
  expected: string,
  range: { readonly min: number; readonly max: number; readonly what: string },
): FieldSchema<readonly unknown[]> {
  const wrongLength: v.ErrorMessage<v.BaseIssue<unknown>> = ({ received }) =>
    `must hold from ${range.min} to ${range.max} ${range.what}, not ${received}`;
  return v.pipe(
    v.unknown(),
    v.array(v.unknown(), wrongType(expected)),
    v.minLength(range.min, wrongLength),
    v.maxLength(range.max, wrongLength),
  );
}

/** As `listField`, but the file may leave it out. */
export function optionalList(
  expected: string,
  range: Parameters<typeof listField>[1],
): FieldSchema<readonly unknown[]> {
  return v.nullish(listField(expected, range), []);
}

/** One of `words`, letter case included; the file may leave it out. */
export function optionalWord<T extends string>(
  words: readonly T[],
  expected: string,
  defaultWord: T,
): FieldSchema<T> {
  return v.nullish(v.picklist(words, wrongType(expected)), () => defaultWord);
}

/** A required text, unchanged. */
export function textField(expected: string): FieldSchema<string> {
  return v.string(wrongType(expected));
}

function ofKind<T>(kind: ValueKind<T>): FieldSchema<T> {
  return v.pipe(
    v.unknown(),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = kind.parse(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: kindProblem(kind, "", dataset.value).trimStart() });
      return NEVER;
    }),
  );
}

/** The end of a message that quotes the value: `must be a list, not 5`. */
function wrongType(expected: string): (issue: v.BaseIssue<unknown>) => string {
  return ({ input }) =>
    isAbsent(input) ? "is required" : `${expected}, not ${show(input)}${listAdvice(input)}`;
}

/** What to write where a list is expected and a mapping was given. */
function listAdvice(raw: unknown): string {
  return isObject(raw) ? ": begin each entry with -" : "";
}

/** The fields; wrong ones are undefined. Null if the value is no mapping. */
export function readFields<S extends FieldSchemas>(
  schemas: S,
  { raw, at }: Located,
  problems: string[],
): Fields<S> | null {
  const entries = readMapping(raw, at, Object.keys(schemas), problems);
  if (entries === null) return null;
  const fields: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(schemas)) {
    const result = v.safeParse(schema, entries[key], { abortPipeEarly: true });
    fields[key] = result.success ? result.output : undefined;
    if (!result.success)
      append(
        problems,
        result.issues.map((issue) => `${keyPath(at, key)} ${issue.message}`),
      );
  }
  // Every key of the schemas was set above.
  return fields as Fields<S>;
}

/** The items of a list, each with its path; none if the list is absent or no list. */
export function readItems({ raw, at }: Located, problems: string[]): readonly Located[] {
  if (isAbsent(raw)) return [];
  if (Array.isArray(raw))
    return raw.map((item: unknown, index) => ({ raw: item, at: `${at}[${index}]` }));
  problems.push(`${at} must be a list, not ${showKind(raw)}${listAdvice(raw)}`);
  return [];
}
