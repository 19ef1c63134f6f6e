/**
 * What all answers of the admin API have in common (docs/reference/admin-api.md). This folder holds
 * types only: the daemon produces the answers, the proxy writes them, the dashboard and clients
 * read them. Times are RFC 3339 in UTC; costs and amounts are US dollars.
 */

/** The field that every answer of the daemon has. */
export interface TimedAnswer {
  /** When the answer was made, by the daemon's clock, with milliseconds. */
  readonly server_time: string;
}

/** One page of a list. A list without paging has no `next`. */
export interface ListPage extends TimedAnswer {
  /** The value of `after` for the next page; null on the last page. */
  readonly next: string | null;
}
