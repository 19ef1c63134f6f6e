/**
 * Reads the mappings of a configuration. Reports every unknown key at any depth, and gives every
 * value a path such as `rate_limits.models[0].limits`.
 */
import { isObject, showKind } from "../checked.js";
import { nameHint } from "./closest-name.js";

export type Mapping = Readonly<Record<string, unknown>>;

/** The path of a key. Keys that need quotes are written in brackets. */
export function keyPath(at: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${at}[${JSON.stringify(key)}]`;
  return at === "" ? key : `${at}.${key}`;
}

/** The end of the message about an unknown key. */
export type KeyHint = (key: string, names: readonly string[]) => string;

/** The known entries of a mapping; null if the value isn't one. Reports unknown keys. */
export function readMapping(
  raw: unknown,
  place: string | { readonly at: string; readonly hint?: KeyHint | undefined },
  names: readonly string[],
  problems: string[],
): Mapping | null {
  const { at, hint = nameHint } = typeof place === "string" ? { at: place } : place;
  if (!isObject(raw)) {
    problems.push(
      `${at === "" ? "the file" : at} must be a mapping of ${names.join(", ")}, not ${showKind(raw)}`,
    );
    return null;
  }
  const entries: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (names.includes(key)) entries[key] = value;
    else problems.push(`${keyPath(at, key)} is not a known key${hint(key, names)}`);
  }
  return entries;
}
