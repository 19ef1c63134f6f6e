/**
 * The cookie of a session of the dashboard (docs/dashboard.md, "Signing in"). Over TLS its name is
 * `__Host-sluice`: browsers let no other host set such a cookie, and send it only over TLS. Without
 * TLS its name is `sluice`, because browsers don't accept secure cookies there (Safari none at all,
 * Chromium and Firefox none with that prefix, even at localhost).
 */
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import type { RequestHeaders } from "../../http/exchange.js";

/** A cookie with a random token. Over TLS its name begins with `__Host-`. */
export interface TokenCookie {
  readonly name: string;
  readonly sameSite: "Strict" | "Lax";
}

const cookieOfSession: TokenCookie = { name: "sluice", sameSite: "Strict" };
/** 32 bytes in base64url. */
const tokenShape = /^[\w-]{43}$/;
/** Browsers send a few hundred bytes; a header may have 64 KiB. */
const pairsMax = 200;

export interface SessionCookie {
  readonly token: string;
  readonly isSecure: boolean;
}

/**
 * The session's cookie in a `Cookie` header. Null if there is none, or if several have the name.
 * `secureOnly`: the request is known to have come over TLS.
 */
export function readSessionCookie(
  header: string | undefined,
  secureOnly: boolean,
): SessionCookie | null {
  const isSecure = secureOnly || valuesIn(header, cookieOfSession, true).length > 0;
  const token = tokenIn(header, cookieOfSession, isSecure);
  return token === null ? null : { token, isSecure };
}

/**
 * The token of a cookie. Null if there is none, or if several have the name: another host may have
 * set one of them.
 */
export function tokenIn(
  header: string | undefined,
  cookie: TokenCookie,
  isSecure: boolean,
): string | null {
  const [token, ...repeated] = valuesIn(header, cookie, isSecure);
  return token !== undefined && repeated.length === 0 && tokenShape.test(token) ? token : null;
}

function valuesIn(
  header: string | undefined,
  cookie: TokenCookie,
  isSecure: boolean,
): readonly string[] {
  const pairs = header?.split(";", pairsMax + 1) ?? [];
  if (pairs.length > pairsMax) return [];
  const name = nameOf(cookie, isSecure);
  return pairs.flatMap((pair) => {
    const position = pair.indexOf("=");
    return pair.slice(0, Math.max(position, 0)).trim() === name
      ? [pair.slice(position + 1).trim()]
      : [];
  });
}

/** The value of the `Set-Cookie` that begins a session, which ends when the browser is closed. */
export function sessionCookie({ token, isSecure }: SessionCookie): string {
  return setCookie(cookieOfSession, token, isSecure);
}

/** The value of the `Set-Cookie` that removes the session's cookie. */
export function endedCookie(isSecure: boolean): string {
  return setCookie(cookieOfSession, "", isSecure, 0);
}

/** The value of a `Set-Cookie`; without `maxAge`, the cookie ends when the browser is closed. */
export function setCookie(
  cookie: TokenCookie,
  token: string,
  isSecure: boolean,
  maxAge?: number,
): string {
  const attributes = `Path=/; HttpOnly; SameSite=${cookie.sameSite}${isSecure ? "; Secure" : ""}`;
  const age = maxAge === undefined ? "" : `; Max-Age=${maxAge}`;
  return `${nameOf(cookie, isSecure)}=${token}; ${attributes}${age}`;
}

function nameOf({ name }: TokenCookie, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}

type BrowserRequest = Pick<RequestHeaders, "header"> & { readonly method: string };

/** Why a request with a session's cookie is refused as forged by another site; null if it isn't. */
export function crossSiteProblem(request: BrowserRequest): Failure | null {
  const reads = request.method === "GET" || request.method === "HEAD";
  return originProblem(request, reads) ?? (reads ? null : bodyProblem(request));
}

function originProblem(request: BrowserRequest, reads: boolean): Failure | null {
  // Only browsers can set it. "none": the user typed the address or opened a bookmark.
  const site = request.header("sec-fetch-site");
  if (site !== undefined)
    return site === "same-origin" || (reads && site === "none")
      ? null
      : cookieFailure(`Sec-Fetch-Site is ${quoteValue(site)}, not same-origin`);
  // Browsers send Sec-Fetch-Site only to trustworthy addresses, but Origin with every change.
  const origin = request.header("origin");
  if (origin === undefined) return reads ? null : cookieFailure("there is no Origin");
  const host = request.header("host");
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
    ? null
    : cookieFailure(`Origin ${quoteValue(origin)} isn't the gateway's own`);
}

/** Another site's form can send any body, but not with the content type of JSON. */
function bodyProblem(request: BrowserRequest): Failure | null {
  const length = request.header("content-length") ?? "0";
  const isEmpty = length === "0" && request.header("transfer-encoding") === undefined;
  const [type = ""] = (request.header("content-type") ?? "").split(";", 1);
  return isEmpty || type.trim().toLowerCase() === "application/json"
    ? null
    : cookieFailure("a body must be application/json");
}

function cookieFailure(why: string): Failure {
  return plainFailure(
    403,
    "permission_error",
    `a dashboard session is valid for the dashboard's own page only: ${why}`,
  );
}

function quoteValue(value: string): string {
  return JSON.stringify(value.slice(0, 255));
}
