/**
 * Who is calling, and on which user path (CONTRACT section 2): the master key, or anybody while the
 * gateway is open. Whether it may be open at all is decided at the start, in `main.ts`.
 */
import { type Failure, invalid, plainFailure } from "../shared/error-code.js";
import { normalizeUserPath } from "../shared/user-path.js";
import type { Area } from "./match-route.js";

export interface Credentials {
  /** Null: the gateway is open. */
  readonly masterKey: string | null;
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

export type Authentication = { readonly ok: true; readonly caller: Caller } | { readonly ok: false; readonly failure: Failure };

/** The caller of a request to `area`, or the refusal. `header` reads a request header by its lower-case name, `isRepeated` tells whether it came twice. */
export function authenticate(credentials: Credentials, area: Area, header: (name: string) => string | undefined, isRepeated: (name: string) => boolean = () => false): Authentication {
  const { masterKey } = credentials;
  if (masterKey !== null) {
    const refused = checkToken(credentials, masterKey, header);
    if (refused !== null) return { ok: false, failure: refused };
  } else if (area === "admin" && !credentials.adminOpen) {
    return denied("/admin needs a master key: set SLUICE_MASTER_KEY");
  }
  if (area === "admin") return { ok: true, caller: { userPath: "/" } };
  const given = header(credentials.userPathHeader);
  if (given === undefined) return { ok: true, caller: { userPath: "/" } };
  const path = normalizeUserPath(asUtf8(given));
  // Two of them would be read as one path with a comma, which no rule of either covers.
  if (path.ok && !(given.includes(",") && isRepeated(credentials.userPathHeader))) return { ok: true, caller: { userPath: path.path } };
  const name = displayName(credentials.userPathHeader);
  return { ok: false, failure: invalid(`invalid ${name} header`, name) };
}

function checkToken(credentials: Credentials, masterKey: string, header: (name: string) => string | undefined): Failure | null {
  const authorization = header("authorization");
  let token = header("x-api-key");
  if (authorization !== undefined) {
    const bearer = /^Bearer +(\S+) *$/i.exec(authorization);
    if (bearer === null) return unauthorized("malformed credentials: expected Authorization: Bearer <token>");
    token = bearer[1]!;
  }
  if (token === undefined || token === "") return unauthorized("missing credentials");
  return credentials.sameSecret(token, masterKey) ? null : unauthorized("authentication failed");
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
