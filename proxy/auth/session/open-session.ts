/** Opens a session with a key, of whichever kind it is. */
import { namesOfToken } from "../../../shared/domain/jwt-denial.js";
import { looksLikeManagedKey } from "../../../shared/domain/managed-key.js";
import { lastMs } from "../../../shared/time.js";
import { nameCharsMax, type SessionAnswer } from "../../../shared/wire/dashboard-session.js";
import type { CallOutcome } from "../../limiter/limiter.js";
import type { Credentials } from "../authenticate.js";
import { deniedCaller, type RefusedCaller, wrongToken } from "../caller.js";
import { looksLikeJwt } from "../jwt-path.js";
import { markOf, type OpenSession, type SessionGateway } from "./find-session.js";

type OpeningGateway = SessionGateway & {
  readonly credentials: Pick<Credentials, "masterKey" | "jwt" | "sameSecret" | "hashKey">;
};

type OpenedSession = { readonly ok: true; readonly session: OpenSession } | RefusedCaller;

const wrongKey: RefusedCaller = { ok: false, failure: wrongToken };

/** The session, or the one refusal of every wrong key. */
export async function openSession(
  gateway: OpeningGateway,
  key: string,
  token: string,
): Promise<OpenedSession> {
  const { limiter, credentials, sessionKeeping } = gateway;
  const { masterKey, jwt } = credentials;
  const hash = { session_hash: sessionKeeping.hashOf(token) };
  if (masterKey !== null && credentials.sameSecret(key, masterKey)) {
    const mark = markOf(gateway, token, { kind: "admin" });
    return opened(await limiter.call("sessions.open-admin", { ...hash, mark }));
  }
  if (looksLikeManagedKey(key)) {
    const opening = { ...hash, key_hash: credentials.hashKey(key) };
    return opened(await limiter.call("sessions.open", opening));
  }
  if (jwt === null || !looksLikeJwt(key)) return wrongKey;
  const verified = await jwt.verify(key);
  if (!verified.ok) return verified;
  const { caller, claims, expiresAtMs } = verified;
  const issuer = String(claims["iss"]);
  return opened(
    await limiter.call("sessions.open", {
      ...hash,
      mark: markOf(gateway, token, { kind: "jwt", issuer }),
      issuer,
      user_path: caller.userPath,
      // No longer one can be denied.
      names: namesOfToken(claims).filter(({ length }) => length <= nameCharsMax),
      expires_at_ms: Math.min(Math.floor(expiresAtMs), lastMs),
    }),
  );
}

function opened(outcome: CallOutcome): OpenedSession {
  if (!outcome.ok) return outcome;
  const session = outcome.body as SessionAnswer;
  if (session.kind === "none") return wrongKey;
  return session.kind === "denied"
    ? deniedCaller({ denial: wrongToken }, session.ended)
    : { ok: true, session };
}
