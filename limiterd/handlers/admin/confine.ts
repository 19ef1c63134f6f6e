/**
 * Confines the holder of a role for a subtree (docs/roles.md) to the subtree. A table says for each
 * operation how: by a check of its body, by a check in its handler, or by a refusal. The proxy has
 * already checked the role itself (`proxy/http/paths/admin-access.ts`).
 */
import { type Checked, good, isAbsent, isObject } from "../../../shared/checked.js";
import { budgetGrammar } from "../../../shared/domain/budget.js";
import { parseLimitTarget, parseUserPath } from "../../../shared/domain/limit-key.js";
import { ruleGrammar } from "../../../shared/domain/rule.js";
import { isPathWithin } from "../../../shared/domain/user-path.js";
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";

/** How an operation of a role of a subtree is confined to the subtree. */
type Confinement =
  /** Refused: it concerns the whole gateway, or isn't for callers of the admin API. */
  | "refused"
  /** Its `user_path` must be in the subtree; without one, it is the subtree's path. */
  | "path"
  /** As `path`, for its field `under`. */
  | "under"
  /** The operation reads one rule or budget, which must be on a path of the subtree. */
  | "read-limit"
  /**
   * The operation changes one rule or budget, which must be below the subtree's path: limits on
   * that path itself confine the subtree, so only roles above it may change them.
   */
  | "change-limit"
  /** Allowed: the operation reads something that is the same for everyone. */
  | "all"
  /** The handler checks it, because only the object that the body names has a path. */
  | "handler";

const confinements: Readonly<Record<AdminOp, Confinement>> = {
  "rate-limits.list": "path",
  "rate-limits.children": "read-limit",
  "rate-limits.test": "read-limit",
  "rate-limits.banned": "refused",
  "rate-limits.put": "change-limit",
  "rate-limits.delete": "change-limit",
  "rate-limits.raise": "change-limit",
  "rate-limits.end-raise": "change-limit",
  "rate-limits.reset-one": "change-limit",
  "rate-limits.reset": "refused",
  "budgets.list": "path",
  "budgets.children": "read-limit",
  "budgets.put": "change-limit",
  "budgets.delete": "change-limit",
  "budgets.raise": "change-limit",
  "budgets.end-raise": "change-limit",
  "budgets.reset-one": "change-limit",
  "budgets.reset": "refused",
  // The reset anchors are the same for all.
  "budgets.settings": "all",
  "budgets.put-settings": "refused",
  "limits.stage": "refused",
  "limits.plan": "refused",
  "limits.apply": "refused",
  "limits.keys": "refused",
  "keys.issue": "handler",
  "keys.list": "path",
  "keys.rotate": "handler",
  "keys.deactivate": "handler",
  "keys.delete": "handler",
  "jwts.list": "refused",
  "jwts.deny": "refused",
  "jwts.allow": "refused",
  "leases.list": "path",
  "queues.list": "path",
  "refusals.list": "path",
  "sessions.open": "refused",
  "sessions.open-admin": "refused",
  "sessions.check": "refused",
  "sessions.close": "refused",
  "sessions.failed": "refused",
  "objects.own": "refused",
  "objects.owners": "refused",
  "responses.pending": "refused",
  "responses.due": "refused",
  "responses.forget": "refused",
  "loops.find": "refused",
  "batches.capped": "refused",
  "batches.enqueue": "refused",
  "batches.withdraw": "refused",
  "batches.settle": "refused",
  explain: "handler",
  status: "handler",
  metrics: "refused",
  backup: "refused",
  "targets.report": "refused",
  "usage.status": "refused",
  "usage.summary": "path",
  "usage.records": "path",
  "usage.export": "path",
  "usage.follow": "refused",
  "usage.adjust": "refused",
  "alerts.list": "refused",
  "alerts.due": "refused",
  "alerts.report": "refused",
  "requests.report": "refused",
  "requests.list": "path",
  "requests.show": "handler",
  "requests.sessions": "path",
  "traffic.summary": "refused",
  "upstream-limits.list": "refused",
  "audit.list": "path",
  "configuration.report": "refused",
  "tenants.list": "under",
  "reconciliations.keep": "refused",
  "reconciliations.list": "refused",
};

/**
 * The body with which the operation runs for the holder of a role for the subtree `within`; or its
 * refusal.
 */
export function confine(op: AdminOp, body: unknown, within: string): Checked<unknown> {
  switch (confinements[op]) {
    case "refused":
      return permissionFailure(`it concerns the whole gateway, and this is a role for ${within}`);
    case "path":
      return withPath(body, "user_path", within);
    case "under":
      return withPath(body, "under", within);
    case "read-limit":
      return withLimit(op, body, (path) => isPathWithin(path, within), within);
    case "change-limit":
      return withLimit(op, body, (path) => path !== within && isPathWithin(path, within), within);
    case "all":
    case "handler":
      return good(body);
  }
}

function withPath(body: unknown, field: string, within: string): Checked<unknown> {
  const fields = isObject(body) ? body : {};
  const value = fields[field];
  if (isAbsent(value)) return good({ ...fields, [field]: within });
  const path = parseUserPath(value, field);
  if (!path.ok) return path;
  return isPathWithin(path.value, within)
    ? good(fields)
    : permissionFailure(outside(path.value, within));
}

function withLimit(
  op: AdminOp,
  body: unknown,
  isAllowed: (path: string) => boolean,
  within: string,
): Checked<unknown> {
  const fields = isObject(body) ? body : {};
  const { replaces } = fields;
  for (const key of replaces === undefined ? [fields] : [fields, replaces]) {
    const target = op.startsWith("budgets.")
      ? parseLimitTarget(budgetGrammar, isObject(key) ? key : {})
      : parseLimitTarget(ruleGrammar, isObject(key) ? key : {});
    if (!target.ok) return target;
    const { scope, subject } = target.value;
    if (scope !== "user_path")
      return permissionFailure(`a role for ${within} can't change limits on a ${scope}`);
    if (isAllowed(subject)) continue;
    return permissionFailure(
      subject === within
        ? `a role for ${within} can't change the limits on ${within} itself, only those below it`
        : outside(subject, within),
    );
  }
  return good(body);
}

function outside(path: string, within: string): string {
  return `${path} isn't in the subtree of this role, ${within}`;
}

function permissionFailure(message: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: plainFailure(403, "permission_error", message) };
}

/**
 * The refusal if an operation names or makes something outside the subtree of the caller's role.
 */
export function notWithin(path: string, within: string): Failure {
  return permissionFailure(outside(path, within)).failure;
}
