/**
 * The caller of a request that a browser sends with the cookie of a session, in place of a key. It
 * counts on /admin and GET /v1/usage alone: no page can spend money with it.
 */
import { plainFailure } from "../../../shared/error-code.js";
import type { Exchange } from "../../http/exchange.js";
import type { Area, Endpoint } from "../../http/match-route.js";
import { requestedPath, showsKey } from "../authenticate.js";
import { type Authentication, type Caller, unauthorized } from "../caller.js";
import { isOverTls } from "./client-address.js";
import { findSession, type OpenSession, type SessionGateway } from "./find-session.js";
import { crossSiteProblem } from "./same-origin.js";
import { readSessionCookie, type SessionCookie } from "./session-cookie.js";

const ended = unauthorized("the session has ended: sign in again");

/** The cookie of the session by which this request is authenticated; null: not by a session. */
export function sessionOf(
  { sessionKeeping }: Pick<SessionGateway, "sessionKeeping">,
  { endpoint, area }: { readonly endpoint: Endpoint; readonly area: Area },
  exchange: Exchange,
): SessionCookie | null {
  const counts = area === "admin" || endpoint === "usage";
  return !counts || showsKey(exchange) ? null : cookieOf({ sessionKeeping }, exchange);
}

/** The session's cookie, wherever the request goes. */
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
  const found = await findSession(gateway, token);
  if (!found.ok) return found;
  const { session } = found;
  if (session === null) return { ok: false, failure: ended };
  if (area === "admin" && session.kind !== "admin")
    return {
      ok: false,
      failure: plainFailure(
        403,
        "permission_error",
        "a session that a managed key or a JWT has opened does not open /admin: sign in with the master key",
      ),
    };
  const path = requestedPath(gateway.credentials, area, exchange);
  const bound = session.kind === "admin" ? null : session.userPath;
  return bound === null && path.failure !== null
    ? { ok: false, failure: path.failure }
    : { ok: true, caller: callerOf(session, bound ?? path.userPath) };
}

function callerOf(session: OpenSession, userPath: string): Caller {
  return {
    userPath,
    credential: "authenticated",
    isOperator: session.kind === "admin",
    keyId: session.kind === "key" ? session.keyId : "",
    // It reaches no model.
    allowLists: [],
    pathFailure: null,
    denial: ended,
  };
}
