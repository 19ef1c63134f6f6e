/**
 * The provider of OpenID Connect with `openid-client`: authorization code, PKCE, state and nonce.
 * This file alone knows the package, which is loaded at the first sign-in. State, nonce and
 * verifier of a sign-in are derived from one secret, which only the browser's cookie has, so any
 * proxy can finish it.
 */
import { createHash } from "node:crypto";
import type { Configuration } from "openid-client";
import type { Administration } from "../../../shared/access/admin-role.js";
import type { OidcConfig } from "../../../shared/config/resolve/oidc.js";
import { discoveryPauseMs } from "../../bounds.js";
import { deniableNames, grantedRole, lacksClaims, nameOfPerson } from "./granted-role.js";

/** Discovery is read again after this, so that a provider's new keys and addresses are learnt. */
const freshMs = 600_000;
const deadlineSeconds = 10;

export interface SignedInPerson {
  readonly name: string;
  /** The names by which a person can be denied. */
  readonly deniableNames: readonly string[];
  /** Null: no claim grants a role. */
  readonly administration: Administration | null;
  /** When the session ends: with the ID token, or when the settings say. */
  readonly expiresAtMs: number;
}

export interface OidcProvider {
  /** The address at which the browser signs in. Rejects if the provider can't be reached. */
  signInUrl(secret: string, redirectUrl: string): Promise<string>;
  /**
   * The person who has signed in, from the address to which the provider sent the browser. Rejects
   * if the answer is forged.
   */
  finish(secret: string, callback: URL): Promise<SignedInPerson>;
}

/** The state, nonce or verifier of one sign-in, by its `use`. */
function deriveSecret(secret: string, use: string): string {
  return createHash("sha256").update(`${use} ${secret}`).digest("base64url");
}

export function createOidcProvider(config: OidcConfig, nowMs: () => number): OidcProvider {
  let lastDiscovery: { readonly discovered: Promise<Configuration>; untilMs: number } | null = null;

  async function discover(): Promise<Configuration> {
    const oidc = await import("openid-client");
    const issuer = new URL(config.issuer);
    const { clientId, clientSecret } = config;
    return await oidc.discovery(
      issuer,
      clientId,
      {},
      clientSecret === null ? oidc.None() : oidc.ClientSecretPost(clientSecret),
      {
        timeout: deadlineSeconds,
        execute: [
          // The signature too, not only the connection on which the token came.
          oidc.enableNonRepudiationChecks,
          ...(issuer.protocol === "http:" ? [oidc.allowInsecureRequests] : []),
        ],
      },
    );
  }

  function discoverProvider(): Promise<Configuration> {
    if (lastDiscovery === null || nowMs() >= lastDiscovery.untilMs) {
      const next = { discovered: discover(), untilMs: nowMs() + freshMs };
      lastDiscovery = next;
      next.discovered.catch(() => {
        next.untilMs = nowMs() + discoveryPauseMs;
      });
    }
    return lastDiscovery.discovered;
  }

  return {
    async signInUrl(secret, redirectUrl) {
      const oidc = await import("openid-client");
      const url = oidc.buildAuthorizationUrl(await discoverProvider(), {
        redirect_uri: redirectUrl,
        scope: config.scopes.join(" "),
        state: deriveSecret(secret, "state"),
        nonce: deriveSecret(secret, "nonce"),
        code_challenge: await oidc.calculatePKCECodeChallenge(deriveSecret(secret, "verifier")),
        code_challenge_method: "S256",
      });
      return url.href;
    },
    async finish(secret, callback) {
      const oidc = await import("openid-client");
      const provider = await discoverProvider();
      const tokens = await oidc.authorizationCodeGrant(provider, callback, {
        pkceCodeVerifier: deriveSecret(secret, "verifier"),
        expectedState: deriveSecret(secret, "state"),
        expectedNonce: deriveSecret(secret, "nonce"),
        idTokenExpected: true,
      });
      const idToken = tokens.claims()!;
      const hasMore = provider.serverMetadata().userinfo_endpoint !== undefined;
      const more =
        hasMore && lacksClaims(config.roles, idToken)
          ? await oidc.fetchUserInfo(provider, tokens.access_token, idToken.sub)
          : {};
      const claims = { ...more, ...idToken };
      return {
        name: nameOfPerson(claims),
        deniableNames: deniableNames(claims),
        administration: grantedRole(config.roles, claims),
        expiresAtMs: config.sessionMs === null ? idToken.exp * 1000 : nowMs() + config.sessionMs,
      };
    },
  };
}
