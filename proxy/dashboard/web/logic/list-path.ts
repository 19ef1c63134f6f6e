/** What is asked of one page of a list, from what the page's address asks for. Pure. */

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
