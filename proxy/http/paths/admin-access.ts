/**
 * Which role each endpoint of the admin API needs (docs/roles.md). The proxy enforces this table,
 * `npm run docs` writes it into the page, and a test compares it with docs/openapi.json. Not here:
 * the part of an answer that a role for a subtree sees (`limiterd/handlers/admin/confine.ts`).
 */
import {
  type Administration,
  type AdminRole,
  administrationText,
  includesRole,
} from "../../../shared/access/admin-role.js";
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import { type AdminEndpoint, adminIdRoutes, adminRoutes } from "./admin-routes.js";

export interface AdminAccess {
  readonly role: AdminRole;
  /** Whether a role of a subtree suffices; otherwise the role must be one for `/`. */
  readonly ofSubtree: boolean;
}

const viewer: AdminAccess = { role: "viewer", ofSubtree: true };
const operator: AdminAccess = { role: "operator", ofSubtree: true };
const admin: AdminAccess = { role: "admin", ofSubtree: true };
const viewerOfAll: AdminAccess = { role: "viewer", ofSubtree: false };
const operatorOfAll: AdminAccess = { role: "operator", ofSubtree: false };
const adminOfAll: AdminAccess = { role: "admin", ofSubtree: false };

/** The role that each method of an endpoint needs. */
export const adminAccess: Readonly<Record<AdminEndpoint, Readonly<Record<string, AdminAccess>>>> = {
  "rate-limits": { GET: viewer, PUT: operator, DELETE: operator },
  "rate-limits-children": { GET: viewer },
  "rate-limits-test": { POST: viewer },
  "rate-limits-raise": { POST: operator, DELETE: operator },
  "rate-limits-reset-one": { POST: operator },
  "rate-limits-reset": { POST: operatorOfAll },
  budgets: { GET: viewer, PUT: operator, DELETE: operator },
  "budgets-children": { GET: viewer },
  "budgets-raise": { POST: operator, DELETE: operator },
  "budgets-reset-one": { POST: operator },
  "budgets-reset": { POST: operatorOfAll },
  "budgets-settings": { GET: viewer, PUT: operatorOfAll },
  limits: { GET: viewerOfAll, POST: operatorOfAll },
  "auth-keys": { GET: viewer, POST: admin },
  "auth-keys-rotate": { POST: admin },
  "auth-keys-deactivate": { POST: admin },
  "auth-keys-delete": { DELETE: admin },
  "denied-jwts": { GET: viewerOfAll, PUT: adminOfAll, DELETE: adminOfAll },
  explain: { POST: viewer },
  live: { GET: viewer },
  targets: { GET: viewerOfAll },
  "in-flight": { GET: viewer },
  queues: { GET: viewer },
  refusals: { GET: viewer },
  "upstream-limits": { GET: viewerOfAll },
  status: { GET: viewer },
  "usage-summary": { GET: viewer },
  "usage-records": { GET: viewer },
  "usage-export": { GET: viewer },
  "usage-follow": { GET: viewerOfAll },
  "usage-reprice": { POST: adminOfAll },
  providers: { GET: viewerOfAll },
  config: { GET: viewerOfAll },
  alerts: { GET: viewerOfAll },
  "alerts-test": { POST: operatorOfAll },
  requests: { GET: viewer },
  request: { GET: viewer },
  sessions: { GET: viewer },
  traffic: { GET: viewerOfAll },
  audit: { GET: viewer },
  tenants: { GET: viewer },
  reconciliations: { GET: viewerOfAll, POST: operatorOfAll },
};

/** Why the holder of a role may not call an endpoint; null if it may. */
export function accessProblem(
  administration: Administration,
  endpoint: AdminEndpoint,
  { method, path }: { readonly method: string; readonly path: string },
): Failure | null {
  const needed = adminAccess[endpoint][method];
  if (needed === undefined) return accessFailure(`${method} ${path} is for no role`);
  const { role, ofSubtree } = needed;
  if (includesRole(administration.role, role) && (ofSubtree || administration.path === "/"))
    return null;
  const where = ofSubtree ? administration.path : "/";
  return accessFailure(
    `${method} ${path} needs the role ${role} for ${where}: this is ${administrationText(administration)}`,
  );
}

/** The requests other than GET that the holder of a role may send: `PUT /admin/budgets`, … */
export function requestsOf(administration: Administration): readonly string[] {
  const idRoutes = adminIdRoutes.map(([, methods, route]) => [route, methods] as const);
  return [...adminRoutes, ...idRoutes].flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([method, endpoint]) => accessProblem(administration, endpoint, { method, path }) === null,
      )
      .flatMap(([method]) => (method === "GET" ? [] : [`${method} ${path}`])),
  );
}

function accessFailure(message: string): Failure {
  return plainFailure(403, "permission_error", message);
}
