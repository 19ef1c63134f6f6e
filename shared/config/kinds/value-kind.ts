/**
 * A kind of value: how it parses a value from a file, an environment variable or a flag, and how a
 * message describes the accepted values. The kinds themselves are in the files beside this one; the
 * tables in `../settings/` assign them to settings.
 */

import { isObject, show, showKind } from "../../checked.js";
import { numberAdvice } from "../../text/written-number.js";
import { didYouMean } from "../closest-name.js";

export interface ValueKind<T> {
  /** Its name in the documentation. */
  readonly label: string;
  /** The bounds of a value, or of a list's length, as the documentation shows them. */
  readonly range?: string;
  /** All values, if they are a few words. */
  readonly words?: readonly string[];
  /** The unit of a number in the file. */
  readonly unit?: string;
  /** What `parse` multiplies a number by, at any depth; absent: 1. */
  readonly scale?: number;
  /** Whether it is a path, relative to the place of its source. */
  readonly isPath?: true;
  /** The accepted values, as the rest of the sentence "<name> …". */
  readonly expected: string;
  /** Advice on a wrong value, as the end of a message; it never quotes the value. */
  readonly advice?: (raw: unknown) => string;
  /** The whole sentence about a wrong mapping, which names the wrong field. */
  readonly problemIn?: (mapping: Readonly<Record<string, unknown>>, name: string) => string;
  /** Whether a message may quote a wrong value. Secrets must not appear in messages. */
  readonly quotable: (raw: unknown) => boolean;
  /** The value, or undefined if `raw` isn't of this kind. */
  readonly parse: (raw: unknown) => T | undefined;
  /** The form in the file, for editors; `parse` may accept more. */
  readonly schema: JsonSchema;
}

/** A number with its unit; words unchanged. */
export function withUnit(text: string, { unit }: Pick<ValueKind<unknown>, "unit">): string {
  return unit !== undefined && /^\d/.test(text) ? `${text} ${unit}` : text;
}

/** In draft 7, which editors' language servers support. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One of these schemas, or a text with a variable, which is replaced before the value is read. */
export function orVariable(...schemas: readonly JsonSchema[]): JsonSchema {
  return { anyOf: [...schemas, { type: "string", pattern: "\\$\\{" }] };
}

/** For `quotable`: any value may be quoted, or none. */
export const always = (): boolean => true;
export const never = (): boolean => false;

/**
 * The sentence about a value that isn't of its kind. `name` is the path, variable or flag that held
 * it.
 */
export function kindProblem(kind: ValueKind<unknown>, name: string, raw: unknown): string {
  if (!kind.quotable(raw)) return `${name} ${kind.expected}${kind.advice?.(raw) ?? ""}`;
  if (kind.problemIn !== undefined && isObject(raw)) return kind.problemIn(raw, name);
  const isNumber = kind.label === "integer" || kind.label === "number";
  const advice =
    kind.advice?.(raw) ?? (isNumber ? numberAdvice(raw, kind.unit) : wordAdvice(kind, raw));
  return `${name} ${kind.expected}, not ${isObject(raw) ? showKind(raw) : show(raw)}${advice}`;
}

/** Names the word that was probably misspelt. */
function wordAdvice({ words }: ValueKind<unknown>, raw: unknown): string {
  return words === undefined || typeof raw !== "string" ? "" : didYouMean(raw, words);
}
