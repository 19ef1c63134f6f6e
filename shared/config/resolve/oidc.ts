/** Resolves the settings of the sign-in by OpenID Connect, `admin.oidc`. */
import type { ClaimedRole } from "../kinds/oidc-kinds.js";
import type { SettingValues } from "../settings/settings.js";

/** One provider of OpenID Connect, and the roles that its claims grant. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  readonly clientSecretFile: string | null;
  /** Null to use the gateway's own origin. */
  readonly redirectUrl: string | null;
  readonly scopes: readonly string[];
  /** Null for the lifetime of the ID token. */
  readonly sessionMs: number | null;
  readonly roles: readonly ClaimedRole[];
}

/** Null if it is off. */
export function resolveOidc(values: SettingValues, problems: string[]): OidcConfig | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcRoles: roles } = values;
  if (issuer === null) {
    if (clientId !== null || roles.length > 0) problems.push("admin.oidc.issuer is required");
    return null;
  }
  if (!URL.canParse(issuer) || !isSecure(new URL(issuer)))
    problems.push(
      `admin.oidc.issuer must be an https:// URL, or http:// on loopback, not ${JSON.stringify(issuer)}`,
    );
  if (clientId === null) problems.push("admin.oidc.client_id is required");
  if (roles.length === 0)
    problems.push("admin.oidc.roles is required: without a role nobody can sign in");
  return {
    issuer,
    clientId: clientId ?? "",
    clientSecret: values.oidcClientSecret,
    clientSecretFile: values.oidcClientSecretFile,
    redirectUrl: values.oidcRedirectUrl,
    scopes: values.oidcScopes,
    sessionMs: values.oidcSessionMs,
    roles,
  };
}

function isSecure({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  return protocol === "http:" && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
