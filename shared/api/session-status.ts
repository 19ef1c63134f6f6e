/** The signed-in user, as GET /dashboard/session reports it (docs/contributing/dashboard.md). */

import type { Administration } from "../access/admin-role.js";

interface MayChange {
  /**
   * The requests of the admin API with a body that the user's role may send, such as `PUT
   * /admin/budgets`.
   */
  readonly may: readonly string[];
}

interface SessionOwner {
  readonly signed_in_at: string;
  readonly expires_at: string;
}

/**
 * The session of a managed key or a JWT. Without times at an open gateway that restricts /admin.
 */
interface SelfSession extends Partial<SessionOwner> {
  readonly kind: "self";
  readonly user_path: string;
  /** Present for a managed key, as the next two fields. */
  readonly key_id?: string;
  readonly key_name?: string | null;
  readonly labels?: readonly string[];
}

export type SignedIn =
  /** The gateway is open, and every caller is its operator. */
  | (MayChange & { readonly kind: "open" })
  | { readonly kind: "none" }
  | (SessionOwner &
      MayChange &
      Administration & {
        readonly kind: "admin";
        /** The name of the user; null with the master key. */
        readonly name: string | null;
      })
  | SelfSession;

export type SessionStatus = SignedIn & {
  readonly server_time: string;
  readonly version: string;
  /** Whether the request is known to have used TLS. */
  readonly tls: boolean;
  /** Whether people sign in by OpenID Connect, at /dashboard/sign-in. */
  readonly oidc: boolean;
};
