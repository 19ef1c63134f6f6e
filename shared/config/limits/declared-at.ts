/**
 * Where a configuration declares a limit, for people who want to change it there. A place in the
 * file is packed into one number.
 */
import type { DeclaredAt } from "../../domain/rule.js";

/** Of one entry of a list of the file; more are refused. */
export const limitsPerEntryMax = 1000;
/** More than a file of 16 MiB can hold. */
const entriesMax = 2 ** 21;
/** What is left of an exact integer: limits behind so many lines are shown without theirs. */
const linesMax = 2 ** 22;

/** Of the limit of an entry, by their numbers in their lists; line 0: it isn't known. */
export function placeInFile(entry: number, limit: number, line: number): DeclaredAt {
  const known = line < linesMax ? line : 0;
  return (known * entriesMax + entry) * limitsPerEntryMax + limit;
}

/** The line of the file, from 1; null: a variable declares it, or it isn't known. */
export function declaredLine(at: DeclaredAt): number | null {
  return typeof at === "string" ? null : Math.floor(at / (limitsPerEntryMax * entriesMax)) || null;
}

/** As in messages about the configuration, such as `rate_limits.user_paths[0].limits[1]`. */
export function declaredAtText(
  at: DeclaredAt,
  {
    file,
    section,
    scope,
  }: { readonly file: string | null; readonly section: string; readonly scope: string },
): string {
  if (typeof at === "string") return at;
  const place = `${section}.${scope}s[${Math.floor(at / limitsPerEntryMax) % entriesMax}]`;
  return `${file === null ? "" : `${file}: `}${place}.limits[${at % limitsPerEntryMax}]`;
}
