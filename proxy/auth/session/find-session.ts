/**
 * The sessions of the dashboard as the proxy knows them: it asks the daemon for each, with every
 * request, and looks whether what it has checked itself is still configured.
 */
import type { JwtIssuerConfig } from "../../../shared/config/config.js";
import type { Network } from "../../../shared/config/ip-network.js";
import type { Failure } from "../../../shared/error-code.js";
import type { SessionAnswer } from "../../../shared/wire/dashboard-session.js";
import type { Limiter } from "../../limiter/limiter.js";
import type { SignInAttempts } from "./sign-in-attempts.js";

/** What sessions are made of and found by. */
export interface SessionKeeping {
  readonly attempts: SignInAttempts;
  readonly trustedProxies: readonly Network[];
  newToken(): string;
  /** SHA-256, by which the daemon knows a session. */
  hashOf(token: string): string;
  /** What a text leaves with a session, from which the text can't be told without the token. */
  markOf(token: string, text: string): string;
}

/** What a session needs of the gateway. */
export interface SessionGateway {
  readonly limiter: Pick<Limiter, "call">;
  readonly config: {
    readonly server: { readonly masterKey: string | null };
    readonly jwtIssuers: readonly JwtIssuerConfig[];
  };
  readonly sessionKeeping: SessionKeeping;
}

/** Whose session it is. */
export type OpenSession = Extract<SessionAnswer, { readonly openedAtMs: number }>;

type FoundSession =
  | { readonly ok: true; readonly session: OpenSession | null }
  | { readonly ok: false; readonly failure: Failure };

/** The session with this token; null: there is none, or it has ended. */
export async function findSession(gateway: SessionGateway, token: string): Promise<FoundSession> {
  const body = { session_hash: gateway.sessionKeeping.hashOf(token) };
  const checked = await gateway.limiter.call("sessions.check", body);
  if (!checked.ok) return checked;
  const session = checked.body as SessionAnswer;
  if (session.kind === "none" || session.kind === "denied") return { ok: true, session: null };
  if (session.kind === "key" || session.mark === markOf(gateway, token, session))
    return { ok: true, session };
  // Another master key, or another issuer, is configured now.
  const closed = await gateway.limiter.call("sessions.close", body);
  return closed.ok ? { ok: true, session: null } : closed;
}

/**
 * What the configuration that admits this credential leaves with a session; null: it is configured
 * no more.
 */
export function markOf(
  { config, sessionKeeping }: Omit<SessionGateway, "limiter">,
  token: string,
  credential: { readonly kind: "admin" } | { readonly kind: "jwt"; readonly issuer: string },
): string | null {
  if (credential.kind === "admin") {
    const { masterKey } = config.server;
    return masterKey === null ? null : sessionKeeping.markOf(token, `master key ${masterKey}`);
  }
  const issuers = config.jwtIssuers.filter(({ issuer }) => issuer === credential.issuer);
  return issuers.length === 0
    ? null
    : sessionKeeping.markOf(token, `issuers ${JSON.stringify(issuers)}`);
}
