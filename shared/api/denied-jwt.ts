/** JWTs that are denied, as /admin/denied-jwts shows them (docs/authentication.md). */

import type { Timed } from "./list-page.js";

/** One of `jti` and `sub` is set. */
export interface DeniedJwt {
  readonly jti: string | null;
  readonly sub: string | null;
  /** Null: of any issuer. */
  readonly issuer: string | null;
  /** Whole seconds. */
  readonly denied_at: string;
  /** Null: for good. */
  readonly expires_at: string | null;
}

/** A page of the daemon's. */
export interface DeniedJwtPage extends DeniedJwtList, Timed {
  /** What to give as `after` for the next page; null on the last one. */
  readonly next: number | null;
}

/** The whole list. */
export interface DeniedJwtList {
  readonly denied_jwts: readonly DeniedJwt[];
}
