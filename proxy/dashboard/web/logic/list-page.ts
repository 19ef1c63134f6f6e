/**
 * The query for one page of a list, from the page's address, and the page after an event of the
 * live stream. Pure.
 */

/** Rows of one page, as many as a person can read and a phone draws quickly. */
const rowsPerPage = 100;

/**
 * `names`: the parameters, beside `search` and `after`, that filter this list. `fixed`: parameters
 * that the address lacks or names differently.
 */
function listQuery(
  query: URLSearchParams,
  names: readonly string[] = [],
  fixed: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams({ limit: String(rowsPerPage), ...fixed });
  for (const name of ["search", "after", ...names]) {
    const value = query.get(name);
    if (value !== null && value !== "") parameters.set(name, value);
  }
  return parameters.toString();
}

/** As `listQuery`, for a search that finds children of templates, too. */
export function limitQuery(
  query: URLSearchParams,
  names: readonly string[],
  scope: string,
): string {
  const isSearch = (query.get("search") ?? "") !== "";
  return listQuery(query, names, { scope, ...(isSearch ? { order: "use" } : {}) });
}

/** The path with its query. */
export function listPath(path: string, ...parameters: Parameters<typeof listQuery>): string {
  return `${path}?${listQuery(...parameters)}`;
}

/** The identity of a rule or budget. */
interface NamedItem {
  /** Absent in a list of one scope. */
  readonly scope?: string;
  readonly subject: string;
  readonly template?: string;
  readonly period_seconds: number;
  readonly models?: readonly string[];
  readonly when?: object;
  readonly mode?: string | undefined;
}

/** The items after an event: all of its items, or the previous items with its changes. */
export function itemsAfter<Item extends NamedItem>(
  before: readonly Item[],
  isWhole: boolean,
  received: readonly Item[],
): readonly Item[] {
  if (isWhole) return received;
  const changed = new Map(received.map((item) => [itemKey(item), item]));
  return before.map((item) => changed.get(itemKey(item)) ?? item);
}

/** The identity of a rule, a budget or a template's child: unique in a list, as a text. */
export function itemKey(item: NamedItem): string {
  const { scope, subject, template, period_seconds, models, when, mode } = item;
  return JSON.stringify([scope, subject, template, period_seconds, models, when, mode]);
}

/** How many of the latest rows aren't shown yet: `12`, or `100+` if a whole page isn't. */
export function newRows<Row>(
  shownRows: readonly Row[],
  latest: readonly Row[],
  keyOf: (row: Row) => string,
): string {
  const shownKeys = new Set(shownRows.map(keyOf));
  const count = latest.filter((row) => !shownKeys.has(keyOf(row))).length;
  return count >= rowsPerPage ? `${count}+` : String(count);
}
