/** The kinds of values of `admin.oidc` (docs/roles.md). */
import { type AdminRole, adminRoles, isAdminRole } from "../../access/admin-role.js";
import { isObject } from "../../checked.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import { listOf } from "./list-kinds.js";

/** Persons with this value in this claim get the role. */
export interface ClaimedRole {
  readonly claim: string;
  readonly value: string;
  readonly role: AdminRole;
  readonly path: string;
}

const fieldNames = ["claim", "value", "role", "path"];

export const claimedRoles = listOf<ClaimedRole>(
  `must be a list of up to 100 mappings with claim, value, role (${adminRoles.join(", ")}) and path, such as {claim: groups, value: team-leads, role: operator, path: /team}`,
  (raw) => {
    if (!isObject(raw) || Object.keys(raw).some((key) => !fieldNames.includes(key)))
      return undefined;
    const { claim, value, role, path = "/" } = raw;
    if (typeof claim !== "string" || claim === "" || typeof value !== "string" || value === "")
      return undefined;
    const normal = typeof path === "string" ? normalizeUserPath(path) : null;
    return isAdminRole(role) && normal?.ok === true
      ? { claim, value, role, path: normal.path }
      : undefined;
  },
  {
    itemsMin: 0,
    itemsMax: 100,
    item: {
      type: "object",
      required: ["claim", "value", "role"],
      properties: {
        claim: { type: "string" },
        value: { type: "string" },
        role: { enum: adminRoles },
        path: { type: "string" },
      },
      additionalProperties: false,
    },
  },
);
