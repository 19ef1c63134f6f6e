/**
 * Sessions of the dashboard: opens one with a key, finds it by its cookie, and authenticates
 * requests with it. A session is valid on /admin and GET /v1/usage only, and with a role on /admin
 * only, so no page can spend money with it.
 */

import { type Administration, everything } from "../../../shared/access/admin-role.js";
import { auditTextCharsMax } from "../../../shared/bounds.js";
import type { JwtIssuerConfig } from "../../../shared/config/config.js";
import type { Network } from "../../../shared/config/ip-network.js";
import type { OidcConfig } from "../../../shared/config/resolve/oidc.js";
import { namesOfToken } from "../../../shared/domain/jwt-denial.js";
import { couldBeImportedKey, looksLikeManagedKey } from "../../../shared/domain/managed-key.js";
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import { escapeInLine } from "../../../shared/logging/escape-controls.js";
import { lastMs } from "../../../shared/time.js";
import type { DaemonAnswer } from "../../../shared/wire/admin-op.js";
import { nameCharsMax, type SessionAnswer } from "../../../shared/wire/dashboard-session.js";
import type { Requester } from "../../../shared/wire/message-to-daemon.js";
import type { Exchange } from "../../http/exchange.js";
import type { Area } from "../../http/match-route.js";
import type { Limiter } from "../../limiter/client/limiter-client.js";
import { type Credentials, requestedPath } from "../authenticate.js";
import {
  type Authentication,
  type Caller,
  deniedCaller,
  type RefusedCaller,
  unauthorizedFailure,
  wrongToken,
} from "../caller.js";
import { looksLikeJwt } from "../jwt-path.js";
import type { SignedInPerson } from "../oidc/oidc-provider.js";
import { isOverTls } from "./client-address.js";
import { crossSiteProblem, readSessionCookie, type SessionCookie } from "./session-cookie.js";
import type { SignInAttempts } from "./sign-in-attempts.js";

const ended = unauthorizedFailure("the session has ended: sign in again");

/** The request's session cookie; null without one. */
export function cookieOf(
  { sessionKeeping }: Pick<SessionGateway, "sessionKeeping">,
  exchange: Exchange,
): SessionCookie | null {
  const secureOnly = isOverTls(exchange, sessionKeeping.trustedProxies);
  return readSessionCookie(exchange.header("cookie"), secureOnly);
}

/** The caller whose session it is, or the refusal. */
export async function authenticateSession(
  gateway: SessionGateway & {
    readonly credentials: { readonly userPathHeader: string };
  },
  area: Area,
  exchange: Exchange,
  { token }: SessionCookie,
): Promise<Authentication> {
  const foreign = crossSiteProblem(exchange);
  if (foreign !== null) return { ok: false, failure: foreign };
  const answer = await findSession(gateway, token);
  if (!answer.ok) return answer;
  const { session } = answer;
  if (session === null) return { ok: false, failure: ended };
  if (area === "admin" && administrationOf(session) === null)
    return {
      ok: false,
      failure: plainFailure(
        403,
        "permission_error",
        "a session that a managed key or a JWT has opened does not open /admin: sign in with the master key or a key of administration",
      ),
    };
  if (area !== "admin" && session.kind !== "admin" && administrationOf(session) !== null)
    return {
      ok: false,
      failure: plainFailure(
        403,
        "permission_error",
        "a session with a role opens /admin only: its usage is at GET /admin/usage",
      ),
    };
  const path = requestedPath(gateway.credentials, area, exchange);
  const bound = boundPath(session);
  return bound === null && path.failure !== null
    ? { ok: false, failure: path.failure }
    : { ok: true, caller: callerOf(session, bound ?? path.userPath) };
}

/** What a session may do on /admin; null if nothing. */
export function administrationOf(session: OpenSession): Administration | null {
  if (session.kind === "admin") return everything;
  if (session.kind === "granted") return { role: session.role, path: session.path };
  if (session.kind !== "key" || session.role === undefined) return null;
  return { role: session.role, path: session.userPath ?? "/" };
}

/** The path that a session is bound to; null if it names its path. */
function boundPath(session: OpenSession): string | null {
  if (session.kind === "admin") return null;
  return session.kind === "granted" ? session.path : session.userPath;
}

function callerOf(session: OpenSession, userPath: string): Caller {
  return {
    userPath,
    credential: "authenticated",
    signedInAs:
      session.kind === "key"
        ? `key ${session.keyId}`
        : session.kind === "granted"
          ? session.who
          : "dashboard session",
    isOperator: session.kind === "admin",
    administers: administrationOf(session) ?? undefined,
    keyId: session.kind === "key" ? session.keyId : "",
    // Sessions can't call models.
    allowLists: [],
    pathFailure: null,
    denial: ended,
  };
}

/** What opening and finding sessions needs. */
export interface SessionKeeping {
  readonly attempts: SignInAttempts;
  readonly trustedProxies: readonly Network[];
  newToken(): string;
  /** SHA-256: the daemon stores this hash. */
  hashOf(token: string): string;
  /** A fingerprint of `text`, useless without the token. */
  markOf(token: string, text: string): string;
}

/** The parts of the gateway that sessions use. */
interface SessionGateway {
  readonly limiter: Pick<Limiter, "call">;
  readonly config: {
    readonly server: { readonly masterKey: string | null };
    readonly jwtIssuers: readonly JwtIssuerConfig[];
    readonly oidc: OidcConfig | null;
  };
  readonly sessionKeeping: SessionKeeping;
}

/** An open session and its owner. */
export type OpenSession = Extract<SessionAnswer, { readonly openedAtMs: number }>;

type SessionResult =
  | { readonly ok: true; readonly session: OpenSession | null }
  | { readonly ok: false; readonly failure: Failure };

/** The session with this token; null if there is none, or it has ended. */
export async function findSession(gateway: SessionGateway, token: string): Promise<SessionResult> {
  const body = { session_hash: gateway.sessionKeeping.hashOf(token) };
  const checked = await gateway.limiter.call("sessions.check", body);
  if (!checked.ok) return checked;
  const session = checked.body as SessionAnswer;
  if (session.kind === "none" || session.kind === "denied") return { ok: true, session: null };
  if (session.kind === "key" || session.mark === markOf(gateway, token, session))
    return { ok: true, session };
  // The master key, the issuer or the roles were reconfigured.
  const closed = await gateway.limiter.call("sessions.close", body);
  return closed.ok ? { ok: true, session: null } : closed;
}

/** The fingerprint of the configuration that accepts this credential; null if it no longer does. */
function markOf(
  { config, sessionKeeping }: Omit<SessionGateway, "limiter">,
  token: string,
  credential:
    | { readonly kind: "admin" }
    | { readonly kind: "granted" }
    | { readonly kind: "jwt"; readonly issuer: string },
): string | null {
  if (credential.kind === "admin") {
    const { masterKey } = config.server;
    return masterKey === null ? null : sessionKeeping.markOf(token, `master key ${masterKey}`);
  }
  if (credential.kind === "granted") {
    const { oidc } = config;
    return oidc === null ? null : sessionKeeping.markOf(token, `oidc ${JSON.stringify(oidc)}`);
  }
  const issuers = config.jwtIssuers.filter(({ issuer }) => issuer === credential.issuer);
  return issuers.length === 0
    ? null
    : sessionKeeping.markOf(token, `issuers ${JSON.stringify(issuers)}`);
}

type OpeningGateway = SessionGateway & {
  readonly credentials: Pick<
    Credentials,
    "masterKey" | "jwt" | "hashKey" | "isHashOf" | "importedKeysMayExist"
  >;
};

type OpenedSession = { readonly ok: true; readonly session: OpenSession } | RefusedCaller;

const wrongKey: RefusedCaller = { ok: false, failure: wrongToken };

/** The new session, or the one refusal of every wrong key. `by`: for the audit log. */
export async function openSession(
  gateway: OpeningGateway,
  key: string,
  token: string,
  by: Requester,
): Promise<OpenedSession> {
  const { limiter, credentials, sessionKeeping } = gateway;
  const { masterKey, jwt } = credentials;
  const hash = { session_hash: sessionKeeping.hashOf(token) };
  const keyHash = credentials.hashKey(key);
  if (masterKey !== null && credentials.isHashOf(keyHash, masterKey)) {
    const mark = markOf(gateway, token, { kind: "admin" });
    return openedSession(await limiter.call("sessions.open-admin", { ...hash, mark }, by));
  }
  if (looksLikeManagedKey(key) || (credentials.importedKeysMayExist() && couldBeImportedKey(key))) {
    const opening = { ...hash, key_hash: keyHash };
    return openedSession(await limiter.call("sessions.open", opening, by));
  }
  if (jwt === null || !looksLikeJwt(key)) return wrongKey;
  const verified = await jwt.verify(key);
  if (!verified.ok) return verified;
  const { caller, claims, expiresAtMs } = verified;
  const issuer = String(claims["iss"]);
  const name = escapeInLine(String(claims["sub"] ?? caller.userPath));
  const who = `JWT ${name}`.slice(0, auditTextCharsMax);
  const opening = {
    ...hash,
    mark: markOf(gateway, token, { kind: "jwt", issuer }),
    issuer,
    user_path: caller.userPath,
    names: fitNames(namesOfToken(claims)),
    expires_at_ms: Math.min(Math.floor(expiresAtMs), lastMs),
  };
  return openedSession(await limiter.call("sessions.open", opening, { ...by, who }));
}

/** The names, cut to those that a denial can have. */
function fitNames(names: readonly string[]): readonly string[] {
  return names.filter(({ length }) => length <= nameCharsMax);
}

/** The session of a person whose claims grant a role; it ends with the ID token at the latest. */
export async function openAdminSession(
  gateway: SessionGateway,
  {
    name,
    deniableNames,
    administration,
    expiresAtMs,
  }: SignedInPerson & { readonly administration: Administration },
  token: string,
  by: Requester,
): Promise<OpenedSession> {
  const body = {
    session_hash: gateway.sessionKeeping.hashOf(token),
    mark: markOf(gateway, token, { kind: "granted" }),
    ...administration,
    who: name.slice(0, auditTextCharsMax),
    names: fitNames(deniableNames),
    expires_at_ms: Math.min(Math.floor(expiresAtMs), lastMs),
  };
  return openedSession(await gateway.limiter.call("sessions.open-admin", body, by));
}

function openedSession(outcome: DaemonAnswer): OpenedSession {
  if (!outcome.ok) return outcome;
  const session = outcome.body as SessionAnswer;
  if (session.kind === "none") return wrongKey;
  return session.kind === "denied"
    ? deniedCaller({ denial: wrongToken }, session.ended)
    : { ok: true, session };
}
