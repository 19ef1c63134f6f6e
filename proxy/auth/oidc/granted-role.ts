/** The role that the claims of a provider of OpenID Connect grant (docs/roles.md). Pure. */
import type { Administration } from "../../../shared/access/admin-role.js";
import type { ClaimedRole } from "../../../shared/config/kinds/oidc-kinds.js";
import { namesOfToken } from "../../../shared/domain/jwt-denial.js";
import { escapeInLine } from "../../../shared/logging/escape-controls.js";
import { claimAt } from "../jwt-path.js";

type Claims = Readonly<Record<string, unknown>>;

/**
 * The first entry whose claim is the value, or a list that contains it, exactly. An e-mail address
 * counts only if the provider has verified it.
 */
export function grantedRole(roles: readonly ClaimedRole[], claims: Claims): Administration | null {
  const match = roles.find((entry) => hasClaim(entry, claims));
  return match === undefined ? null : { role: match.role, path: match.path };
}

function hasClaim({ claim, value }: ClaimedRole, claims: Claims): boolean {
  if (claim === "email" && claims["email_verified"] !== true) return false;
  const roles = claimAt(claims, claim);
  return Array.isArray(roles) ? roles.includes(value) : roles === value;
}

/**
 * Whether the claims lack one that could decide the role, so that it must be requested: a claim of
 * an entry before the first entry that grants a role, or of any entry if none does.
 */
export function lacksClaims(roles: readonly ClaimedRole[], claims: Claims): boolean {
  for (const entry of roles) {
    if (hasClaim(entry, claims)) return false;
    if (claimAt(claims, entry.claim) === undefined) return true;
  }
  return false;
}

/**
 * The person's name in the audit log and on the dashboard. It isn't `preferred_username`, which
 * people choose and which could be another's name.
 */
export function nameOfPerson(claims: Claims): string {
  return escapeInLine(`OIDC ${String(verifiedEmail(claims) ?? claims["sub"])}`);
}

/**
 * The names by which `sluice jwts deny` ends a person's sessions: those of the token, and
 * `nameOfPerson`.
 */
export function deniableNames(claims: Claims): readonly string[] {
  const email = verifiedEmail(claims);
  return [
    ...namesOfToken(claims),
    ...(email === null ? [] : namesOfToken({ iss: claims["iss"], sub: email })),
  ];
}

function verifiedEmail({ email, email_verified: isVerified }: Claims): string | null {
  return isVerified === true && typeof email === "string" && email !== "" ? email : null;
}
