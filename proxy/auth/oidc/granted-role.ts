/** The role that the claims of a provider of OpenID Connect grant (docs/roles.md). Pure. */
import type { Administration } from "../../../shared/access/admin-role.js";
import type { ClaimedRole } from "../../../shared/config/kinds/oidc-kinds.js";
import { claimAt } from "../jwt-path.js";

type Claims = Readonly<Record<string, unknown>>;

/**
 * The first entry whose claim is the value, or a list that contains it, exactly. An e-mail address
 * counts only if the provider has verified it.
 */
export function grantedRole(roles: readonly ClaimedRole[], claims: Claims): Administration | null {
  const found = roles.find(({ claim, value }) => {
    if (claim === "email" && claims["email_verified"] !== true) return false;
    const claimed = claimAt(claims, claim);
    return Array.isArray(claimed) ? claimed.includes(value) : claimed === value;
  });
  return found === undefined ? null : { role: found.role, path: found.path };
}

/** Whether a claim that grants a role is missing, so that it must be asked for. */
export function lacksClaims(roles: readonly ClaimedRole[], claims: Claims): boolean {
  return roles.some(({ claim }) => claimAt(claims, claim) === undefined);
}

/** Whom the audit log and the dashboard name. */
export function nameOfPerson(claims: Claims): string {
  const email = claims["email_verified"] === true ? claims["email"] : undefined;
  const name = [email, claims["preferred_username"], claims["sub"]].find(
    (value) => typeof value === "string" && value !== "",
  );
  return String(name);
}
