/**
 * What is asked of one page of a list, from what the page's address asks for; and what it is after
 * the live stream has told of it. Pure.
 */

/** Rows of one page: what a reader takes in, and a phone draws at once. */
const rowsPerPage = 100;

/**
 * `names`: the parameters, beside `search` and `after`, that narrow this list. `fixed`: those that
 * the address doesn't have, or has by another name.
 */
export function listQuery(
  query: URLSearchParams,
  names: readonly string[] = [],
  fixed: Readonly<Record<string, string>> = {},
): string {
  const asked = new URLSearchParams({ limit: String(rowsPerPage), ...fixed });
  for (const name of ["search", "after", ...names]) {
    const value = query.get(name);
    if (value !== null && value !== "") asked.set(name, value);
  }
  return asked.toString();
}

/** The whole question. */
export function listPath(path: string, ...asked: Parameters<typeof listQuery>): string {
  return `${path}?${listQuery(...asked)}`;
}

/** What a rule or a budget is known by. */
interface Named {
  readonly scope: string;
  readonly subject: string;
  readonly period_seconds: number;
}

/** The items after an event: all of them, or those before it with what has changed. */
export function itemsAfter<Item extends Named>(
  before: readonly Item[],
  isWhole: boolean,
  told: readonly Item[],
): readonly Item[] {
  if (isWhole) return told;
  const changed = new Map(told.map((item) => [nameOf(item), item]));
  return before.map((item) => changed.get(nameOf(item)) ?? item);
}

function nameOf({ scope, subject, period_seconds }: Named): string {
  return JSON.stringify([scope, subject, period_seconds]);
}
