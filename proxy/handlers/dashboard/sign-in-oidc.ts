/**
 * Signs people in by OpenID Connect (docs/roles.md): GET /dashboard/sign-in sends the browser to
 * the provider, which sends it back to /dashboard/sign-in/callback. A cookie contains the secret of
 * the sign-in; it is `Lax`, because the provider's page is another site. The browser always ends at
 * the dashboard, whatever the request says.
 */
import { auditTextCharsMax } from "../../../shared/bounds.js";
import { wrongToken } from "../../auth/caller.js";
import { cookieOf, openAdminSession } from "../../auth/session/authenticate-session.js";
import { clientOf, isOverTls } from "../../auth/session/client-address.js";
import {
  sessionCookie,
  setCookie,
  type TokenCookie,
  tokenIn,
} from "../../auth/session/session-cookie.js";
import { pageHeaders } from "../../dashboard/page-head.js";
import type { signInTexts } from "../../dashboard/web/texts/shell-texts.js";
import type { RequestContext } from "../../request-context.js";
import { sentBy } from "../admin/asked-by.js";
import { ownOrigin } from "../own-origin.js";

type SignInContext = Pick<
  RequestContext<"config" | "limiter" | "log" | "monoMs" | "oidc" | "sessionKeeping">,
  "gateway" | "exchange" | "record"
>;

const secondsToSignIn = 600;
const signInCookie: TokenCookie = { name: "sluice-sign-in", sameSite: "Lax" };

export async function startSignIn(context: SignInContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const { oidc, sessionKeeping, log } = gateway;
  if (oidc === null) return leave(context, "off", []);
  const redirectUrl = redirectUrlOf(context);
  const secret = sessionKeeping.newToken();
  const url = await oidc.signInUrl(secret, redirectUrl.href).catch((error: unknown) => {
    log.warn({ reason: reasonOf(error) }, "the provider of OpenID Connect can't be reached");
    return null;
  });
  if (url === null) return leave(context, "unavailable", []);
  const isSecure = redirectUrl.protocol === "https:";
  const cookie = setCookie(signInCookie, secret, isSecure, secondsToSignIn);
  record.end(303, "answered");
  redirect(exchange, url, [cookie]);
}

export async function finishSignIn(context: SignInContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const redirectUrl = redirectUrlOf(context);
  const isSecure = redirectUrl.protocol === "https:";
  // A sign-in can be finished only once.
  const ended = setCookie(signInCookie, "", isSecure, 0);
  const secret = tokenIn(exchange.header("cookie"), signInCookie, isSecure);
  const signedIn = await signIn(context, secret, redirectUrl);
  if ("refused" in signedIn) {
    if (signedIn.reason !== null) await reportRefusal(context, signedIn.reason);
    return leave(context, signedIn.refused, [ended]);
  }
  await closeFormer(context);
  record.note = `signed in: ${signedIn.name}`;
  record.end(303, "answered");
  const isTls = isSecure || isOverTls(exchange, gateway.sessionKeeping.trustedProxies);
  redirect(exchange, "../", [ended, sessionCookie({ token: signedIn.token, isSecure: isTls })]);
}

type Refusal = keyof typeof signInTexts.refused;
/** `reason`: for the logs; null if nobody tried to sign in. */
type RefusedSignIn = { readonly refused: Refusal; readonly reason: string | null };

/** The person's name, and the token of the session that their claims open. */
async function signIn(
  context: SignInContext,
  secret: string | null,
  redirectUrl: URL,
): Promise<{ readonly name: string; readonly token: string } | RefusedSignIn> {
  const { gateway, exchange } = context;
  const { oidc, sessionKeeping } = gateway;
  if (oidc === null || secret === null) return { refused: "expired", reason: null };
  const { attempts, trustedProxies } = sessionKeeping;
  const client = clientOf(exchange, trustedProxies);
  const beganMonoMs = gateway.monoMs();
  if (attempts.begin(client, beganMonoMs) !== null) return { refused: "too-many", reason: null };
  const callback = new URL(redirectUrl);
  callback.search = exchange.query;
  const person = await oidc.finish(secret, callback).catch((error: unknown) => reasonOf(error));
  if (typeof person === "string") return { refused: "failed", reason: person };
  // The provider knows the person, so this attempt isn't a guess.
  attempts.takeBack(client, beganMonoMs);
  const { administration, name } = person;
  if (administration === null) return { refused: "no-role", reason: `${name} has no role` };
  const token = sessionKeeping.newToken();
  const opening = { ...person, administration };
  const opened = await openAdminSession(gateway, opening, token, sentBy(context, ""));
  if (opened.ok) return { name, token };
  if (opened.failure === wrongToken) return { refused: "denied", reason: `${name} is denied` };
  return { refused: "failed", reason: opened.failure.message };
}

async function reportRefusal(context: SignInContext, reason: string): Promise<void> {
  const { log, limiter } = context.gateway;
  log.warn({ reason }, "a sign-in by OpenID Connect was refused");
  const body = { reason: reason.slice(0, auditTextCharsMax) };
  await limiter.call("sessions.failed", body, sentBy(context, "unknown"));
}

/** Closes the session that the browser had before. */
async function closeFormer({ gateway, exchange }: SignInContext): Promise<void> {
  const former = cookieOf(gateway, exchange);
  if (former === null) return;
  const session_hash = gateway.sessionKeeping.hashOf(former.token);
  await gateway.limiter.call("sessions.close", { session_hash });
}

/**
 * The address of the callback as the provider knows it: the setting, or the gateway's own address.
 * Without a valid Host it is unknown; the provider refuses the stand-in, which no client registers.
 */
function redirectUrlOf({ gateway, exchange }: SignInContext): URL {
  const { oidc, server } = gateway.config;
  const origin = ownOrigin(exchange, server) || "http://host.invalid";
  return new URL(oidc?.redirectUrl ?? `${origin}/dashboard/sign-in/callback`);
}

/** Returns the browser to the dashboard, with the reason of a refusal. */
function leave(context: SignInContext, refused: Refusal, cookies: readonly string[]): void {
  const { exchange, record } = context;
  record.note = `sign-in: ${refused}`;
  record.end(303, "refused");
  const up = exchange.path.endsWith("/callback") ? "../" : "./";
  redirect(exchange, `${up}?sign-in=${refused}`, cookies);
}

function redirect(
  exchange: SignInContext["exchange"],
  location: string,
  cookies: readonly string[],
): void {
  const headers = ["x-request-id", exchange.id, "location", location, "cache-control", "no-store"];
  const set = cookies.flatMap((cookie) => ["set-cookie", cookie]);
  exchange.reply(303, [...headers, ...pageHeaders, ...set], "", "latin1");
}

/** For the log: the library's error code says more than its message. */
function reasonOf(error: unknown): string {
  const { message, code, error: answered } = error as Error & { code?: string; error?: string };
  return [message, code, answered].filter((part) => part !== undefined).join(", ");
}
