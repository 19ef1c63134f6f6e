/**
 * The cookie of a session of the dashboard (docs/dashboard.md, "Signing in"). Over TLS it is
 * `__Host-sluice`, which no other host can set and no request without TLS carries. Without TLS
 * browsers take no such cookie (Safari none at all, Chromium and Firefox none of that name, not
 * even at localhost), so there it is `sluice`.
 */
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import type { RequestHeaders } from "../../http/exchange.js";

const secureName = "__Host-sluice";
const plainName = "sluice";
/** 32 bytes in base64url. */
const tokenShape = /^[\w-]{43}$/;
/** What a browser sends is some hundred bytes; a header has 64 KiB at most. */
const pairsMax = 200;

export interface SessionCookie {
  readonly token: string;
  readonly secure: boolean;
}

/**
 * The session's cookie of a `Cookie` header; null if there is none, or more than one of the name,
 * of which another host may have set either. `secureOnly`: the request has come over TLS for sure.
 */
export function readSessionCookie(
  header: string | undefined,
  secureOnly: boolean,
): SessionCookie | null {
  if (header === undefined) return null;
  const found: Record<string, string[]> = { [secureName]: [], [plainName]: [] };
  const pairs = header.split(";", pairsMax + 1);
  if (pairs.length > pairsMax) return null;
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (name === secureName || name === plainName) found[name]!.push(pair.slice(at + 1).trim());
  }
  const secure = found[secureName]!.length > 0 || secureOnly;
  const tokens = found[secure ? secureName : plainName]!;
  const token = tokens[0];
  return tokens.length === 1 && tokenShape.test(token!) ? { token: token!, secure } : null;
}

/** The value of the `Set-Cookie` that begins a session. It goes when the browser is closed. */
export function sessionCookie({ token, secure }: SessionCookie): string {
  return `${named(secure)}=${token}; ${attributes(secure)}`;
}

/** The value of the `Set-Cookie` that takes it back. */
export function endedCookie(secure: boolean): string {
  return `${named(secure)}=; ${attributes(secure)}; Max-Age=0`;
}

function named(secure: boolean): string {
  return secure ? secureName : plainName;
}

function attributes(secure: boolean): string {
  return `Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
}

type BrowserRequest = Pick<RequestHeaders, "header"> & { readonly method: string };

/** Why a request that rides on a session is refused, or null. */
export function crossSiteProblem(request: BrowserRequest): Failure | null {
  const reads = request.method === "GET" || request.method === "HEAD";
  return originProblem(request, reads) ?? (reads ? null : bodyProblem(request));
}

function originProblem(request: BrowserRequest, reads: boolean): Failure | null {
  // Set by the browser alone; "none": typed, or from a bookmark.
  const site = request.header("sec-fetch-site");
  if (site !== undefined)
    return site === "same-origin" || (reads && site === "none")
      ? null
      : refused(`Sec-Fetch-Site is ${shown(site)}, not same-origin`);
  // Browsers send the other header to trustworthy addresses alone, but this one with all changes.
  const origin = request.header("origin");
  if (origin === undefined) return reads ? null : refused("there is no Origin");
  const host = request.header("host");
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
    ? null
    : refused(`Origin ${shown(origin)} isn't the gateway's own`);
}

/** A form can send what a page wants, but not as JSON. */
function bodyProblem(request: BrowserRequest): Failure | null {
  const length = request.header("content-length") ?? "0";
  const isEmpty = length === "0" && request.header("transfer-encoding") === undefined;
  const [type = ""] = (request.header("content-type") ?? "").split(";", 1);
  return isEmpty || type.trim().toLowerCase() === "application/json"
    ? null
    : refused("a body must be application/json");
}

function refused(why: string): Failure {
  return plainFailure(
    403,
    "permission_error",
    `a dashboard session is valid for the dashboard's own page only: ${why}`,
  );
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 255));
}
