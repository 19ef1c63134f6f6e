/**
 * Reads the mappings of a configuration. Reports every unknown key at any depth, and gives every
 * value a path such as `rate_limits.models[0].limits`.
 */
import { isObject, showKind } from "../checked.js";
import { nameHint } from "./closest-name.js";

export type Mapping = Readonly<Record<string, unknown>>;

/** The path of a key. Keys that need quotes are written in brackets. */
export function keyPath(path: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** The end of the message about an unknown key. */
export type KeyHint = (key: string, names: readonly string[]) => string;

/** The known entries of a mapping; null if the value isn't one. Reports unknown keys. */
export function readMapping(
  raw: unknown,
  place: string | { readonly path: string; readonly hint?: KeyHint | undefined },
  names: readonly string[],
  problems: string[],
): Mapping | null {
  const { path, hint = nameHint } = typeof place === "string" ? { path: place } : place;
  if (!isObject(raw)) {
    problems.push(
      `${path === "" ? "the file" : path} must be a mapping of ${names.join(", ")}, not ${showKind(raw)}`,
    );
    return null;
  }
  const entries: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (names.includes(key)) entries[key] = value;
    else problems.push(`${keyPath(path, key)} is not a known key${hint(key, names)}`);
  }
  return entries;
}
