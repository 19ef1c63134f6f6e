/**
 * What the holder of a role for a subtree (docs/roles.md) may ask of the daemon. The table says of
 * every operation how it is confined to the subtree: by its body, in its handler, or by a refusal.
 * The proxy has checked the role itself (`proxy/http/paths/admin-access.ts`).
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
  /** The operation concerns the whole gateway, or isn't for callers of the admin API: refused. */
  | "whole"
  /** Its `user_path` must be in the subtree; without one, all of the subtree is meant. */
  | "path"
  /** As `path`, for its field `under`. */
  | "under"
  /** The operation reads one rule or budget, which must be on a path of the subtree. */
  | "read-limit"
  /**
   * The operation changes one rule or budget, which must be below the subtree's own path: limits
   * on that path itself are set by those above.
   */
  | "change-limit"
  /** The operation reads what is the same for everyone: every role may. */
  | "all"
  /** The handler checks it, since only the named object says on which path it is. */
  | "handler";

const confinements: Readonly<Record<AdminOp, Confinement>> = {
  "rate-limits.list": "path",
  "rate-limits.children": "read-limit",
  "rate-limits.test": "read-limit",
  "rate-limits.banned": "whole",
  "rate-limits.put": "change-limit",
  "rate-limits.delete": "change-limit",
  "rate-limits.raise": "change-limit",
  "rate-limits.end-raise": "change-limit",
  "rate-limits.reset-one": "change-limit",
  "rate-limits.reset": "whole",
  "budgets.list": "path",
  "budgets.children": "read-limit",
  "budgets.put": "change-limit",
  "budgets.delete": "change-limit",
  "budgets.raise": "change-limit",
  "budgets.end-raise": "change-limit",
  "budgets.reset-one": "change-limit",
  "budgets.reset": "whole",
  // When periods begin is the same for all.
  "budgets.settings": "all",
  "budgets.put-settings": "whole",
  "limits.stage": "whole",
  "limits.plan": "whole",
  "limits.apply": "whole",
  "limits.keys": "whole",
  "keys.issue": "handler",
  "keys.list": "path",
  "keys.rotate": "handler",
  "keys.deactivate": "handler",
  "keys.delete": "handler",
  "jwts.list": "whole",
  "jwts.deny": "whole",
  "jwts.allow": "whole",
  "leases.list": "path",
  "queues.list": "path",
  "refusals.list": "path",
  "sessions.open": "whole",
  "sessions.open-admin": "whole",
  "sessions.check": "whole",
  "sessions.close": "whole",
  "sessions.failed": "whole",
  "objects.own": "whole",
  "objects.owners": "whole",
  "responses.pending": "whole",
  "responses.due": "whole",
  "responses.forget": "whole",
  "loops.find": "whole",
  "batches.capped": "whole",
  "batches.enqueue": "whole",
  "batches.withdraw": "whole",
  "batches.settle": "whole",
  explain: "handler",
  status: "handler",
  metrics: "whole",
  backup: "whole",
  "targets.report": "whole",
  "usage.status": "whole",
  "usage.summary": "path",
  "usage.records": "path",
  "usage.export": "path",
  "usage.follow": "whole",
  "usage.adjust": "whole",
  "alerts.list": "whole",
  "alerts.due": "whole",
  "alerts.report": "whole",
  "requests.report": "whole",
  "requests.list": "path",
  "requests.show": "handler",
  "requests.sessions": "path",
  "traffic.summary": "whole",
  "upstream-limits.list": "whole",
  "audit.list": "path",
  "configuration.report": "whole",
  "tenants.list": "under",
  "reconciliations.keep": "whole",
  "reconciliations.list": "whole",
};

/** The body with which the operation is done for the holder of a role for a subtree, `within`. */
export function confine(op: AdminOp, body: unknown, within: string): Checked<unknown> {
  switch (confinements[op]) {
    case "whole":
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

/** The refusal of a role for a subtree: what an operation names or makes is elsewhere. */
export function notWithin(path: string, within: string): Failure {
  return permissionFailure(outside(path, within)).failure;
}
