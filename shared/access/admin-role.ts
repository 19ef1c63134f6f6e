/**
 * Roles of administration (docs/roles.md): what a holder may do on /admin, within the subtree of a
 * user path. Pure. Not here: which endpoint needs which role (`proxy/http/paths/admin-access.ts`).
 */
import { type Failure, plainFailure } from "../error-code.js";

/** In ascending order: each includes the ones before it. */
export const adminRoles = ["viewer", "operator", "admin"] as const;
export type AdminRole = (typeof adminRoles)[number];

/** A role and the subtree to which it applies; `/` is everything. */
export interface Administration {
  readonly role: AdminRole;
  /** A normalized user path: the role applies to it and to the paths below it. */
  readonly path: string;
}

/** Of the master key, and of callers of an open gateway on loopback. */
export const everything: Administration = { role: "admin", path: "/" };

export function isAdminRole(value: unknown): value is AdminRole {
  return adminRoles.some((role) => role === value);
}

/** Whether a role includes another one. */
export function includesRole(held: AdminRole, needed: AdminRole): boolean {
  return adminRoles.indexOf(held) >= adminRoles.indexOf(needed);
}

/** Such as `operator of /team`. */
export function administrationText({ role, path }: Administration): string {
  return `${role} of ${path}`;
}

/** The refusal of a key of administration outside of /admin. */
export function keyOfAdministration(id: string): Failure {
  return plainFailure(
    403,
    "permission_error",
    `${id} is a key of administration: it opens /admin, and no model. Issue a key without a role`,
  );
}
