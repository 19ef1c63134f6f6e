/** Who is signed in, as GET /dashboard/session answers (docs/contributing/dashboard.md). */

interface SessionOwner {
  readonly signed_in_at: string;
  readonly expires_at: string;
}

/** Of a managed key or a JWT; without times at an open gateway that keeps /admin shut. */
interface SelfSession extends Partial<SessionOwner> {
  readonly kind: "self";
  readonly user_path: string;
  /** Of a managed key, as the next two. */
  readonly key_id?: string;
  readonly key_name?: string | null;
  readonly labels?: readonly string[];
}

export type SignedIn =
  /** The gateway is open, and every caller is its operator. */
  | { readonly kind: "open" }
  | { readonly kind: "none" }
  | (SessionOwner & { readonly kind: "admin" })
  | SelfSession;

export type SessionStatus = SignedIn & {
  readonly server_time: string;
  readonly version: string;
  /** Whether the request is known to have come over TLS. */
  readonly tls: boolean;
};
