/**
 * The endpoints of the admin API (docs/reference/admin-api.md): their paths and methods. A table.
 */

export type AdminEndpoint =
  | "rate-limits"
  | "rate-limits-children"
  | "rate-limits-test"
  | "rate-limits-raise"
  | "rate-limits-reset-one"
  | "rate-limits-reset"
  | "budgets"
  | "budgets-children"
  | "budgets-raise"
  | "budgets-reset-one"
  | "budgets-reset"
  | "budgets-settings"
  | "limits"
  | "auth-keys"
  | "auth-keys-rotate"
  | "auth-keys-deactivate"
  | "auth-keys-delete"
  | "denied-jwts"
  | "explain"
  | "live"
  | "targets"
  | "in-flight"
  | "queues"
  | "refusals"
  | "upstream-limits"
  | "status"
  | "usage-summary"
  | "usage-records"
  | "usage-export"
  | "usage-follow"
  | "usage-reprice"
  | "providers"
  | "config"
  | "alerts"
  | "alerts-test"
  | "requests"
  | "request"
  | "sessions"
  | "tenants"
  | "traffic"
  | "audit"
  | "reconciliations";

type Methods = Readonly<Record<string, AdminEndpoint>>;

export const adminRoutes: readonly (readonly [path: string, methods: Methods])[] = [
  ["/admin/rate-limits", { GET: "rate-limits", PUT: "rate-limits", DELETE: "rate-limits" }],
  ["/admin/rate-limits/children", { GET: "rate-limits-children" }],
  ["/admin/rate-limits/test", { POST: "rate-limits-test" }],
  ["/admin/rate-limits/raise", { POST: "rate-limits-raise", DELETE: "rate-limits-raise" }],
  ["/admin/rate-limits/reset-one", { POST: "rate-limits-reset-one" }],
  ["/admin/rate-limits/reset", { POST: "rate-limits-reset" }],
  ["/admin/limits", { GET: "limits", POST: "limits" }],
  ["/admin/auth-keys", { GET: "auth-keys", POST: "auth-keys" }],
  ["/admin/denied-jwts", { GET: "denied-jwts", PUT: "denied-jwts", DELETE: "denied-jwts" }],
  ["/admin/budgets", { GET: "budgets", PUT: "budgets", DELETE: "budgets" }],
  ["/admin/budgets/children", { GET: "budgets-children" }],
  ["/admin/budgets/raise", { POST: "budgets-raise", DELETE: "budgets-raise" }],
  ["/admin/budgets/reset-one", { POST: "budgets-reset-one" }],
  ["/admin/budgets/reset", { POST: "budgets-reset" }],
  ["/admin/budgets/settings", { GET: "budgets-settings", PUT: "budgets-settings" }],
  ["/admin/targets", { GET: "targets" }],
  ["/admin/in-flight", { GET: "in-flight" }],
  ["/admin/queues", { GET: "queues" }],
  ["/admin/refusals", { GET: "refusals" }],
  ["/admin/upstream-limits", { GET: "upstream-limits" }],
  ["/admin/status", { GET: "status" }],
  ["/admin/usage", { GET: "usage-summary" }],
  ["/admin/usage/records", { GET: "usage-records" }],
  ["/admin/usage/export", { GET: "usage-export" }],
  ["/admin/usage/follow", { GET: "usage-follow" }],
  ["/admin/usage/reprice", { POST: "usage-reprice" }],
  ["/admin/live", { GET: "live" }],
  ["/admin/providers", { GET: "providers" }],
  ["/admin/config", { GET: "config" }],
  ["/admin/explain", { POST: "explain" }],
  ["/admin/alerts", { GET: "alerts" }],
  ["/admin/alerts/test", { POST: "alerts-test" }],
  ["/admin/requests", { GET: "requests" }],
  ["/admin/sessions", { GET: "sessions" }],
  ["/admin/tenants", { GET: "tenants" }],
  ["/admin/traffic", { GET: "traffic" }],
  ["/admin/audit", { GET: "audit" }],
  ["/admin/reconciliations", { GET: "reconciliations", POST: "reconciliations" }],
];

/** Endpoints with the id of a key or of a request in the path. */
export const adminIdRoutes: readonly (readonly [path: RegExp, methods: Methods, route: string])[] =
  [
    [
      /^\/admin\/auth-keys\/[^/]+\/rotate$/,
      { POST: "auth-keys-rotate" },
      "/admin/auth-keys/{id}/rotate",
    ],
    [
      /^\/admin\/auth-keys\/[^/]+\/deactivate$/,
      { POST: "auth-keys-deactivate" },
      "/admin/auth-keys/{id}/deactivate",
    ],
    [/^\/admin\/auth-keys\/[^/]+$/, { DELETE: "auth-keys-delete" }, "/admin/auth-keys/{id}"],
    [/^\/admin\/requests\/[^/]+$/, { GET: "request" }, "/admin/requests/{id}"],
  ];

/** The request's id in the path; null if it can't be decoded. */
export function requestInPath(path: string): string | null {
  try {
    return decodeURIComponent(path.slice("/admin/requests/".length));
  } catch {
    return null;
  }
}

const oneKeyPath = /^\/admin\/auth-keys\/([^/]+)(?:\/(?:rotate|deactivate))?$/;

/** The key's id in the path, as written. */
export function keyInPath(path: string): string {
  return oneKeyPath.exec(path)?.[1] ?? "";
}
