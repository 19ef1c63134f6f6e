/** The audit log (docs/security.md) as the admin API has it. */

/** One change: what was asked, by whom, and what it changed on one subject. */
export interface AuditEntry {
  readonly id: string;
  readonly time: string;
  /**
   * `master key`, `dashboard session`, `no key` of an open gateway, `os user deploy`, `key key_7`,
   * `JWT alice`, `OIDC ann@example.com` (the verified address, or else `sub`), `configuration`, or
   * `unknown`.
   */
  readonly who: string;
  /** The client's address; `socket` for the command line; the file of the configuration. */
  readonly from: string;
  /** The operation of the daemon, such as `rate-limits.put`. */
  readonly operation: string;
  readonly subject: string;
  /** As bodies of the admin API have it, without secrets. Null: it didn't exist. */
  readonly before: unknown;
  /** Null: it was deleted, or there is nothing to show, such as after a reset. */
  readonly after: unknown;
  /** The `X-Request-ID` of the request; null without one. */
  readonly request_id: string | null;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly server_time: string;
  readonly next: string | null;
}
