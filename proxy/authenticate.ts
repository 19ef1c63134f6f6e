/**
 * Who is calling, and on which user path (CONTRACT section 2): the master key, a JWT, or anybody while
 * the gateway is open. Whether it may be open at all is decided at the start, in `main.ts`.
 */
import { type Failure, invalid, plainFailure } from "../shared/error-code.js";
import { normalizeUserPath } from "../shared/user-path.js";
import { looksLikeJwt } from "./jwt-path.js";
import type { JwtVerifier } from "./jwt-verifier.js";
import type { Area } from "./match-route.js";

export interface Credentials {
  /** With neither a master key nor JWT issuers the gateway is open. */
  readonly masterKey: string | null;
  /** Null: no issuer is configured. */
  readonly jwt: JwtVerifier | null;
  /** Lower case. */
  readonly userPathHeader: string;
  /** Whether /admin is open too: only while the gateway is open on loopback. */
  readonly adminOpen: boolean;
  /** Compares in constant time. */
  sameSecret(given: string, expected: string): boolean;
}

export interface Caller {
  readonly userPath: string;
}

export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  /** `note` is for the log alone: callers learn nothing from a refusal. */
  | { readonly ok: false; readonly failure: Failure; readonly note?: string };

type Header = (name: string) => string | undefined;

/**
 * The caller of a request to `area`, or the refusal; later only for a JWT that wasn't seen lately. `header`
 * reads a request header by its lower-case name, `isRepeated` tells whether it came twice.
 */
export function authenticate(credentials: Credentials, area: Area, header: Header, isRepeated: (name: string) => boolean = () => false): Authentication | Promise<Authentication> {
  const { masterKey, jwt } = credentials;
  if (masterKey === null && jwt === null) {
    if (area === "admin" && !credentials.adminOpen) return denied("/admin needs a master key: set SLUICE_MASTER_KEY");
    return headerCaller(credentials, area, header, isRepeated);
  }
  const token = bearerToken(header);
  if (typeof token !== "string") return { ok: false, failure: token };
  if (masterKey !== null && credentials.sameSecret(token, masterKey)) return headerCaller(credentials, area, header, isRepeated);
  if (jwt === null || !looksLikeJwt(token)) return { ok: false, failure: unauthorized("authentication failed") };
  const verified = jwt.verify(token);
  if (area !== "admin") return verified;
  return verified instanceof Promise ? verified.then(deniedOnAdmin) : deniedOnAdmin(verified);
}

/** Who may name its user path itself. */
function headerCaller(credentials: Credentials, area: Area, header: Header, isRepeated: (name: string) => boolean): Authentication {
  if (area === "admin") return { ok: true, caller: { userPath: "/" } };
  const given = header(credentials.userPathHeader);
  if (given === undefined) return { ok: true, caller: { userPath: "/" } };
  const path = normalizeUserPath(asUtf8(given));
  // Two of them would be read as one path with a comma, which no rule of either covers.
  if (path.ok && !(given.includes(",") && isRepeated(credentials.userPathHeader))) return { ok: true, caller: { userPath: path.path } };
  const name = displayName(credentials.userPathHeader);
  return { ok: false, failure: invalid(`invalid ${name} header`, name) };
}

function bearerToken(header: Header): string | Failure {
  const authorization = header("authorization");
  let token = header("x-api-key");
  if (authorization !== undefined) {
    const bearer = /^Bearer +(\S+) *$/i.exec(authorization);
    if (bearer === null) return unauthorized("malformed credentials: expected Authorization: Bearer <token>");
    token = bearer[1]!;
  }
  return token === undefined || token === "" ? unauthorized("missing credentials") : token;
}

function deniedOnAdmin(verified: Authentication): Authentication {
  return verified.ok ? denied("a JWT does not open /admin: use the master key") : verified;
}

function unauthorized(message: string): Failure {
  return plainFailure(401, "authentication_error", message);
}

function denied(message: string): Authentication {
  return { ok: false, failure: plainFailure(403, "permission_error", message) };
}

/** Node reads header bytes as Latin-1, clients write UTF-8: what is valid UTF-8 is taken as that. */
function asUtf8(latin1: string): string {
  // eslint-disable-next-line no-control-regex
  if (/^[\u0000-\u007f]*$/.test(latin1)) return latin1;
  const text = Buffer.from(latin1, "latin1").toString("utf8");
  return text.includes("\ufffd") ? latin1 : text;
}

/** `x-sluice-user-path` as people write it: `X-Sluice-User-Path`. */
function displayName(header: string): string {
  return header.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}
