/**
 * The daemon's operations as requests of the admin API (docs/reference/admin-api.md), and its
 * answers in the daemon's form: commands needn't know which one they use. Pure.
 */
import { isObject } from "../../shared/checked.js";
import { setMasterKey } from "../../shared/domain/managed-key.js";
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import { formatMillis } from "../../shared/time.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";

type Fields = Readonly<Record<string, unknown>>;

export interface RemoteRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the gateway's address, with the query. */
  readonly path: string;
  /** Null if the request has none. */
  readonly body: unknown;
}

const routes: { readonly [Op in AdminOp]?: readonly [RemoteRequest["method"], string] } = {
  "rate-limits.list": ["GET", "/admin/rate-limits"],
  "rate-limits.children": ["GET", "/admin/rate-limits/children"],
  "rate-limits.test": ["POST", "/admin/rate-limits/test"],
  "rate-limits.put": ["PUT", "/admin/rate-limits"],
  "rate-limits.delete": ["DELETE", "/admin/rate-limits"],
  "rate-limits.raise": ["POST", "/admin/rate-limits/raise"],
  "rate-limits.end-raise": ["DELETE", "/admin/rate-limits/raise"],
  "rate-limits.reset-one": ["POST", "/admin/rate-limits/reset-one"],
  "rate-limits.reset": ["POST", "/admin/rate-limits/reset"],
  "budgets.list": ["GET", "/admin/budgets"],
  "budgets.children": ["GET", "/admin/budgets/children"],
  "budgets.put": ["PUT", "/admin/budgets"],
  "budgets.delete": ["DELETE", "/admin/budgets"],
  "budgets.raise": ["POST", "/admin/budgets/raise"],
  "budgets.end-raise": ["DELETE", "/admin/budgets/raise"],
  "budgets.reset-one": ["POST", "/admin/budgets/reset-one"],
  "budgets.reset": ["POST", "/admin/budgets/reset"],
  "budgets.settings": ["GET", "/admin/budgets/settings"],
  "budgets.put-settings": ["PUT", "/admin/budgets/settings"],
  "limits.plan": ["POST", "/admin/limits"],
  "limits.apply": ["POST", "/admin/limits"],
  "limits.keys": ["GET", "/admin/limits"],
  "keys.issue": ["POST", "/admin/auth-keys"],
  "keys.list": ["GET", "/admin/auth-keys"],
  "jwts.list": ["GET", "/admin/denied-jwts"],
  "jwts.deny": ["PUT", "/admin/denied-jwts"],
  "jwts.allow": ["DELETE", "/admin/denied-jwts"],
  "leases.list": ["GET", "/admin/in-flight"],
  "queues.list": ["GET", "/admin/queues"],
  "upstream-limits.list": ["GET", "/admin/upstream-limits"],
  "refusals.list": ["GET", "/admin/refusals"],
  explain: ["POST", "/admin/explain"],
  status: ["GET", "/admin/status"],
  "usage.summary": ["GET", "/admin/usage"],
  "usage.records": ["GET", "/admin/usage/records"],
  "usage.export": ["GET", "/admin/usage/export"],
  "usage.follow": ["GET", "/admin/usage/follow"],
  "requests.list": ["GET", "/admin/requests"],
  "requests.sessions": ["GET", "/admin/sessions"],
  "tenants.list": ["GET", "/admin/tenants"],
  "traffic.summary": ["GET", "/admin/traffic"],
  "audit.list": ["GET", "/admin/audit"],
  "reconciliations.keep": ["POST", "/admin/reconciliations"],
  "reconciliations.list": ["GET", "/admin/reconciliations"],
};

/** The request for an operation, or why there is none. `nowMs`: this machine's clock. */
export function remoteRequest(op: AdminOp, body: unknown, nowMs: number): RemoteRequest | Failure {
  const fields = isObject(body) ? body : {};
  switch (op) {
    case "keys.issue": {
      // The gateway generates the key, unless it is imported.
      const { key_hash: hash, redacted_value, imported } = fields;
      const key = withExpiry(fields["key"], fields, nowMs);
      return to(op, imported === true ? { ...key, hash, redacted_value } : key);
    }
    case "limits.keys":
      return to(op, { keys: true });
    case "jwts.deny":
      return to(op, withExpiry(fields["jwt"], fields, nowMs));
    case "keys.rotate":
      return keyRequest("POST", fields, { tail: "/rotate", body: fields["rotation"] });
    case "keys.deactivate":
      return keyRequest("POST", fields, { tail: "/deactivate", body: {} });
    case "keys.delete":
      return keyRequest("DELETE", fields, { tail: "", body: null });
    case "requests.show": {
      const id = encodeURIComponent(String(fields["request_id"]));
      return { method: "GET", path: `/admin/requests/${id}`, body: null };
    }
    default:
      return to(op, body);
  }
}

function to(op: AdminOp, body: unknown): RemoteRequest | Failure {
  const route = routes[op];
  if (route === undefined)
    return failure("feature_unavailable", `the admin API has no ${op}: run this on the host`);
  const [method, path] = route;
  return method === "GET"
    ? {
        method,
        path: `${path}${queryOf(subtreeOps.has(op) ? withoutRoot(body) : body)}`,
        body: null,
      }
    : { method, path, body: body ?? {} };
}

/** Operations on a subtree. Without a path they cover everything that the key may see. */
const subtreeOps: ReadonlySet<AdminOp> = new Set<AdminOp>([
  "rate-limits.list",
  "budgets.list",
  "keys.list",
  "leases.list",
  "queues.list",
  "refusals.list",
  "usage.summary",
  "usage.records",
  "usage.export",
  "requests.list",
  "requests.sessions",
  "tenants.list",
  "audit.list",
]);

/** Omits the commands' default path `/`, which a role for a subtree can't see. */
function withoutRoot(body: unknown): unknown {
  if (!isObject(body)) return body;
  return Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => value !== "/" || (name !== "user_path" && name !== "under"),
    ),
  );
}

/** Omits fields without a value. */
function queryOf(body: unknown): string {
  const entries = Object.entries(isObject(body) ? body : {}).filter(([, value]) => value != null);
  const query = new URLSearchParams(
    entries.map(([name, value]): [string, string] => [name, String(value)]),
  );
  return entries.length === 0 ? "" : `?${query.toString()}`;
}

/** The API expects a time; the daemon adds to its own clock. */
function withExpiry(
  body: unknown,
  { expires_in_seconds: inSeconds }: Fields,
  nowMs: number,
): Fields {
  const fields = isObject(body) ? body : {};
  return typeof inSeconds === "number"
    ? { ...fields, expires_at: formatMillis(nowMs + inSeconds * 1000) }
    : fields;
}

function keyRequest(
  method: RemoteRequest["method"],
  { id }: Fields,
  { tail, body }: { readonly tail: string; readonly body: unknown },
): RemoteRequest | Failure {
  if (typeof id !== "string")
    return invalid("a gateway elsewhere takes a key's id, such as key_7, not the key itself", "id");
  return { method, path: `/admin/auth-keys/${encodeURIComponent(id)}${tail}`, body };
}

/** The body of an answer in the daemon's form. */
export function daemonBody(op: AdminOp, request: unknown, body: unknown): unknown {
  switch (op) {
    case "keys.list":
      return Array.isArray(body) ? { keys: body, next: null } : withKeysField(body);
    case "jwts.list":
      return isObject(body) ? { ...body, next: null } : body;
    case "keys.deactivate":
    case "keys.delete":
      return isObject(request) ? { id: request["id"] } : {};
    case "jwts.allow":
      return { status: "ok" };
    default:
      return body;
  }
}

function withKeysField(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { auth_keys: keys, ...others } = body;
  return { keys, ...others };
}

/**
 * The failure in an answer of the admin API; null if the answer isn't the API's. If a key is
 * missing, the failure says where to put one.
 */
export function apiFailure(status: number, body: unknown, keyFrom: string | null): Failure | null {
  if (!isObject(body) || typeof body["message"] !== "string" || typeof body["type"] !== "string")
    return null;
  const { code, param } = body;
  const refused = plainFailure(status, "invalid_request_error", body["message"]);
  return {
    ...refused,
    type: body["type"] as Failure["type"],
    message: refused.message + hintOf(status, keyFrom, refused.message),
    code: typeof code === "string" ? code : null,
    param: typeof param === "string" ? param : null,
  };
}

function hintOf(status: number, keyFrom: string | null, message: string): string {
  if (status !== 401 && status !== 403) return "";
  // Only managed keys have closed this gateway: no key given here can be right.
  if (message.endsWith(setMasterKey))
    return " where that gateway runs, or use sluice there, which needs no key";
  return keyFrom === null
    ? ": put the gateway's master key, or a key of administration, into SLUICE_API_KEY, or name its file with --key-file"
    : `: the key is that of ${keyFrom}${status === 401 ? "; the gateway's master key or a key of administration is needed" : ""}`;
}
