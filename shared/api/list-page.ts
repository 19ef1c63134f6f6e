/**
 * What the answers of the admin API have in common (docs/reference/admin-api.md). This room holds
 * types alone: the daemon makes what they describe, the proxy writes it, pages and clients read it.
 * Moments are RFC 3339 in UTC; costs and amounts are US dollars.
 */

/** What every answer of the daemon tells. */
export interface Timed {
  /** When it was made, by the daemon's clock, with milliseconds. */
  readonly server_time: string;
}

/** One page of a list. A list that is asked for as a whole has no `next`. */
export interface ListPage extends Timed {
  /** What to give as `after` for the next page; null on the last one. */
  readonly next: string | null;
}
