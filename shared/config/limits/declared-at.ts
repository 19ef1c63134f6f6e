/**
 * Where a configuration declares a limit, for whoever wants to change it there. Of 100,000 limits
 * in a file the places are numbers.
 */
import type { DeclaredAt } from "../../domain/rule.js";

/** Of one entry of a list of the file; more are refused. */
export const limitsPerEntryMax = 1000;

/** Of the limit of an entry, by their numbers in their lists. */
export function placeInFile(entry: number, limit: number): DeclaredAt {
  return entry * limitsPerEntryMax + limit;
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
  const place = `${section}.${scope}s[${Math.floor(at / limitsPerEntryMax)}]`;
  return `${file === null ? "" : `${file}: `}${place}.limits[${at % limitsPerEntryMax}]`;
}
