/**
 * /dashboard/session (docs/contributing/dashboard.md, "Sessions"): signs a browser in with a key,
 * tells its page who is signed in, and signs out. The session lives in the daemon; its token is in
 * a cookie that no script can read.
 */

import { everything } from "../../../shared/access/admin-role.js";
import type { SessionStatus, SignedIn } from "../../../shared/api/session-status.js";
import { assert } from "../../../shared/assert.js";
import { auditTextCharsMax, unauthenticatedBodyMs } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { type Failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { formatMillis, formatSeconds } from "../../../shared/time.js";
import { version } from "../../../shared/version.js";
import {
  administrationOf,
  cookieOf,
  findSession,
  type OpenSession,
  openSession,
} from "../../auth/session/authenticate-session.js";
import { clientOf, isOverTls } from "../../auth/session/client-address.js";
import { crossSiteProblem, endedCookie, sessionCookie } from "../../auth/session/session-cookie.js";
import { webPageProblem } from "../../auth/web-page.js";
import { pageHeaders } from "../../dashboard/page-head.js";
import { contentCoding } from "../../http/copy-headers.js";
import { requestsOf } from "../../http/paths/admin-access.js";
import { replyFailure, replyJson } from "../../http/respond.js";
import { limiterUnavailable } from "../../limiter/daemon-calls.js";
import type { RequestContext } from "../../request-context.js";
import { readJson } from "../admin/admin-json.js";
import { sentBy } from "../admin/asked-by.js";
import { refuseCaller } from "../refuse-request.js";

type SessionContext = Pick<
  RequestContext<
    | "config"
    | "credentials"
    | "isUtf8"
    | "limiter"
    | "monoMs"
    | "nowMs"
    | "pages"
    | "sessionKeeping"
  >,
  "gateway" | "exchange" | "record"
>;

/** The headers of every answer below /dashboard, and no caching. */
const headersOfAll = ["cache-control", "no-store", ...pageHeaders];

export function serveSession(context: SessionContext): Promise<void> {
  const foreign = foreignProblem(context);
  if (foreign !== null) return Promise.resolve(refuse(context, foreign));
  switch (context.exchange.method) {
    case "POST":
      return signIn(context);
    case "DELETE":
      return signOut(context);
    default:
      return describeSession(context);
  }
}

/** Whether callers need no credentials; null if the daemon, which knows, is away. */
function isOpen({ gateway }: SessionContext): boolean | null {
  const { credentials, limiter } = gateway;
  if (!credentials.open || limiter.notices.keysExist === true) return false;
  return limiter.notices.keysExist === false ? true : null;
}

/** An open gateway has no cookie to recognize its own page, so the check of /admin applies. */
function foreignProblem(context: SessionContext): Failure | null {
  const { gateway, exchange } = context;
  const foreign = crossSiteProblem(exchange);
  if (foreign !== null || isOpen(context) === false) return foreign;
  return webPageProblem(exchange, gateway.pages);
}

/** The key in the body. No message quotes it. */
function keyIn(body: unknown): string | null {
  const key = isObject(body) && Object.keys(body).length === 1 ? body["key"] : undefined;
  return typeof key === "string" && key.trim() !== "" ? key.trim() : null;
}

const compressedKey = plainFailure(
  415,
  "invalid_request_error",
  "the body must not be compressed: send it without content-encoding",
);

async function signIn(context: SessionContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const { attempts, trustedProxies } = gateway.sessionKeeping;
  // Strangers get no decompression: a Brotli window alone takes 16 MiB.
  if (contentCoding(exchange.header("content-encoding")) !== "")
    return refuse(context, compressedKey);
  exchange.awaitBody(unauthenticatedBodyMs, () => {});
  const body = await readJson(context);
  const key = body.ok ? keyIn(body.value) : null;
  if (key === null) {
    const expected = 'the body must be {"key": "…"}: the master key, a managed key or a JWT';
    const tooLarge = !body.ok && body.failure.status !== 400 ? body.failure : null;
    return refuse(context, tooLarge ?? invalid(expected, "key"));
  }
  const client = clientOf(exchange, trustedProxies);
  const beganMonoMs = gateway.monoMs();
  const waitSeconds = attempts.begin(client, beganMonoMs);
  if (waitSeconds !== null) {
    const failure = plainFailure(429, "rate_limit_error", "too many attempts to sign in");
    return refuse(context, failure, ["retry-after", String(waitSeconds)]);
  }
  const token = gateway.sessionKeeping.newToken();
  const opened = await openSession(gateway, key, token, sentBy(context, ""));
  // An attempt that the daemon or an issuer couldn't judge doesn't count.
  if (opened.ok || opened.failure.status !== 401) attempts.takeBack(client, beganMonoMs);
  if (!opened.ok && opened.failure.status === 401) {
    const reason = (opened.note ?? opened.failure.message).slice(0, auditTextCharsMax);
    await gateway.limiter.call("sessions.failed", { reason }, sentBy(context, "unknown"));
  }
  if (!opened.ok) return refuseCaller({ exchange, record }, "dashboard", opened, headersOfAll);
  await endFormer(context);
  record.note = `signed in: ${ownerText(opened.session)}`;
  record.end(204, "answered");
  // The Origin shows TLS, also behind an untrusted proxy.
  const isSecure =
    isOverTls(exchange, trustedProxies) ||
    exchange.header("origin")?.startsWith("https://") === true;
  replyCookie(context, sessionCookie({ token, isSecure }));
}

/** Closes the browser's previous session; if that fails, the session expires. */
async function endFormer({ gateway, exchange }: SessionContext): Promise<void> {
  const former = cookieOf(gateway, exchange);
  if (former === null) return;
  const hash = gateway.sessionKeeping.hashOf(former.token);
  await gateway.limiter.call("sessions.close", { session_hash: hash });
}

async function signOut(context: SessionContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const cookie = cookieOf(gateway, exchange);
  if (cookie !== null) {
    const hash = gateway.sessionKeeping.hashOf(cookie.token);
    const body = { session_hash: hash };
    const closed = await gateway.limiter.call("sessions.close", body, sentBy(context, ""));
    if (!closed.ok) return refuse(context, closed.failure, ["retry-after", "1"]);
  }
  record.note = "signed out";
  record.end(204, "answered");
  replyCookie(context, endedCookie(cookie?.isSecure ?? isOverTlsNow(context)));
}

async function describeSession(context: SessionContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const cookie = cookieOf(gateway, exchange);
  const open = isOpen(context);
  if (open === null) return refuse(context, limiterUnavailable(), ["retry-after", "1"]);
  const answer =
    open || cookie === null
      ? { ok: true as const, session: null }
      : await findSession(gateway, cookie.token);
  if (!answer.ok) return refuse(context, answer.failure, ["retry-after", "1"]);
  record.end(200, "answered");
  const signedIn: SignedIn = open ? openGateway(gateway.credentials) : signedInBy(answer.session);
  const isTls = cookie?.isSecure === true || isOverTlsNow(context);
  const serverTime = formatMillis(gateway.nowMs());
  const oidc = gateway.config.oidc !== null;
  const status: SessionStatus = { ...signedIn, server_time: serverTime, version, tls: isTls, oidc };
  replyJson(exchange, 200, status, headersOfAll);
}

/** Beyond loopback an open gateway doesn't serve /admin. */
function openGateway({ isAdminOpen }: { readonly isAdminOpen: boolean }): SignedIn {
  return isAdminOpen
    ? { kind: "open", may: requestsOf(everything) }
    : { kind: "self", user_path: "/" };
}

function signedInBy(session: OpenSession | null): SignedIn {
  if (session === null) return { kind: "none" };
  const times = {
    signed_in_at: formatSeconds(session.openedAtMs),
    expires_at: formatSeconds(session.expiresAtMs),
  };
  const administration = administrationOf(session);
  if (administration !== null)
    return {
      kind: "admin",
      ...administration,
      name: nameOf(session),
      may: requestsOf(administration),
      ...times,
    };
  assert(session.kind !== "admin" && session.kind !== "granted", "both administer something");
  const userPath = session.userPath ?? "/";
  if (session.kind === "jwt") return { kind: "self", user_path: userPath, ...times };
  const { keyId, keyName, labels } = session;
  return {
    kind: "self",
    user_path: userPath,
    key_id: keyId,
    key_name: keyName,
    labels,
    ...times,
  };
}

/** Who administers; null for the master key. */
function nameOf(session: OpenSession): string | null {
  if (session.kind === "granted") return session.who;
  return session.kind === "key" ? (session.keyName ?? session.keyId) : null;
}

function ownerText(session: OpenSession): string {
  if (session.kind === "admin") return "the master key";
  if (session.kind === "granted") return session.who;
  return session.kind === "key" ? session.keyId : `a JWT of ${session.userPath}`;
}

function isOverTlsNow({ gateway, exchange }: SessionContext): boolean {
  return isOverTls(exchange, gateway.sessionKeeping.trustedProxies);
}

function replyCookie({ exchange }: SessionContext, cookie: string): void {
  const headers = ["x-request-id", exchange.id, "set-cookie", cookie, ...headersOfAll];
  exchange.reply(204, headers, "", "latin1");
}

function refuse(context: SessionContext, failure: Failure, headers: readonly string[] = []): void {
  const { exchange, record } = context;
  record.end(failure.status, failure.status === 503 ? "limiter_unavailable" : "refused");
  replyFailure(exchange, "dashboard", failure, [...headersOfAll, ...headers]);
}
