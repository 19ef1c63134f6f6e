/**
 * The place where a configuration declares a limit, for people who want to change it. A place in
 * the file is packed into one number.
 */
import type { DeclaredAt } from "../../domain/rule.js";

/** Limits of one list entry in the file; more are refused. */
export const limitsPerEntryMax = 1000;
/** Entries of a list in the file: more than 16 MiB can hold. */
const entriesMax = 2 ** 21;
/** The highest line that fits into an exact integer with the indexes; 0 stands for later ones. */
const linesMax = 2 ** 22;

/** The place of a limit by the indexes of its entry and itself; line 0 if unknown. */
export function placeInFile(entry: number, limit: number, line: number): DeclaredAt {
  const knownLine = line < linesMax ? line : 0;
  return (knownLine * entriesMax + entry) * limitsPerEntryMax + limit;
}

/** The line of the file, from 1; null if a variable declares it, or the line is unknown. */
export function declaredLine(place: DeclaredAt): number | null {
  return typeof place === "string"
    ? null
    : Math.floor(place / (limitsPerEntryMax * entriesMax)) || null;
}

/** As in messages about the configuration, such as `rate_limits.user_paths[0].limits[1]`. */
export function declaredAtText(
  declaredAt: DeclaredAt,
  {
    file,
    section,
    scope,
  }: { readonly file: string | null; readonly section: string; readonly scope: string },
): string {
  if (typeof declaredAt === "string") return declaredAt;
  const place = `${section}.${scope}s[${Math.floor(declaredAt / limitsPerEntryMax) % entriesMax}]`;
  return `${file === null ? "" : `${file}: `}${place}.limits[${declaredAt % limitsPerEntryMax}]`;
}
