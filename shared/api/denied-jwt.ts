/** Denied JWTs, as /admin/denied-jwts shows them (docs/authentication.md). */

import type { TimedAnswer } from "./list-page.js";

/** Exactly one of `jti` and `sub` is set. */
export interface DeniedJwt {
  readonly jti: string | null;
  readonly sub: string | null;
  /** Null for any issuer. */
  readonly issuer: string | null;
  /** In whole seconds. */
  readonly denied_at: string;
  /** Null if the denial never expires. */
  readonly expires_at: string | null;
}

/** A page of the list, from the daemon. */
export interface DeniedJwtPage extends DeniedJwtList, TimedAnswer {
  /** The value of `after` for the next page; null on the last page. */
  readonly next: number | null;
}

/** The whole list, from the HTTP API. */
export interface DeniedJwtList {
  readonly denied_jwts: readonly DeniedJwt[];
}
