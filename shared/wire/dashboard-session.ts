/**
 * Sessions of the dashboard (docs/dashboard.md, "Signing in"): the messages about them between
 * proxy and daemon, and the bounds. The daemon identifies a session by the SHA-256 of its token,
 * which only the browser has.
 */
import { type Administration, type AdminRole, isAdminRole } from "../access/admin-role.js";
import { auditTextCharsMax } from "../bounds.js";
import { bad, type Checked, good, isObject, show } from "../checked.js";
import { isKeyHash } from "../domain/managed-key.js";
import { isNormalUserPath } from "../domain/user-path.js";
import { isMoment } from "../time.js";

/** All sessions are in memory, at less than 1 KiB each. Beyond this the longest idle one ends. */
export const sessionsMax = 10_000;
/**
 * Sessions of one key, of one path's JWTs, or of the master key. Without this bound, one user could
 * end the sessions of all others.
 */
export const sessionsPerHolderMax = 1_000;
/** How long a session lasts. */
export const sessionMs = 12 * 3_600_000;
/** How long a session lasts without a request. */
export const sessionIdleMs = 60 * 60_000;

/** The credential that opened a session, and whose end ends it. */
export type SessionCredential =
  /** The master key, which the proxy has checked. */
  | { readonly kind: "admin"; readonly mark: string }
  /** A role that claims have granted, which the proxy has checked. */
  | ({
      readonly kind: "granted";
      readonly mark: string;
      /** As for a JWT. */
      readonly names: readonly string[];
      readonly expiresAtMs: number;
    } & GrantedAccess)
  /** A managed key by its hash: the daemon checks it. */
  | { readonly kind: "key"; readonly keyHash: string }
  /** A JWT, which the proxy has checked. `names`: the names by which it may be denied. */
  | {
      readonly kind: "jwt";
      readonly mark: string;
      readonly issuer: string;
      readonly userPath: string;
      readonly names: readonly string[];
      readonly expiresAtMs: number;
    };

/** What the claims of a provider of OpenID Connect grant a person. */
interface GrantedAccess extends Administration {
  /** As the audit log names the person. */
  readonly who: string;
}

/** The body of `sessions.open` and `sessions.open-admin`. */
export interface SessionOpening {
  readonly hash: string;
  readonly credential: SessionCredential;
}

/**
 * The answer to `sessions.open` and `sessions.check`. `mark` lets the proxy see whether a
 * credential that it checked itself is still configured.
 */
export type SessionAnswer =
  | { readonly kind: "none" }
  /** For `sessions.open`: the key isn't accepted; null if it isn't known. */
  | {
      readonly kind: "denied";
      readonly ended: { readonly keyId: string; readonly expiredAtMs: number | null } | null;
    }
  | (SessionTimes & { readonly kind: "admin"; readonly mark: string })
  | (SessionTimes & GrantedAccess & { readonly kind: "granted"; readonly mark: string })
  | (SessionTimes & {
      readonly kind: "key";
      /** Null if the caller may name any path. */
      readonly userPath: string | null;
      readonly keyId: string;
      readonly keyName: string | null;
      /** Only of a key of administration. */
      readonly role?: AdminRole;
      readonly labels: readonly string[];
    })
  | (SessionTimes & {
      readonly kind: "jwt";
      readonly mark: string;
      readonly issuer: string;
      readonly userPath: string;
    });

interface SessionTimes {
  readonly openedAtMs: number;
  /** When the session ends at the latest. */
  readonly expiresAtMs: number;
}

/**
 * Characters of a JWT's issuer, and of a name by which it may be denied: twice the longest valid.
 */
export const nameCharsMax = 2_048;
/** Names by `jti`, by `sub` and by a person's e-mail address, with and without the issuer. */
const namesMax = 6;

/** The body of `sessions.failed`: `{reason}`. */
export function parseFailedSignIn(body: unknown): Checked<string> {
  const reason = isObject(body) ? body["reason"] : undefined;
  return typeof reason === "string" && reason.length <= auditTextCharsMax
    ? good(reason)
    : bad(`reason must be a text of up to ${auditTextCharsMax} characters`, "reason");
}

/** The body of `sessions.open`, for all credentials but the master key. */
export function parseSessionOpening(body: unknown): Checked<SessionOpening> {
  const hash = parseSessionHash(body);
  if (!hash.ok) return hash;
  const fields = body as Readonly<Record<string, unknown>>;
  const keyHash = fields["key_hash"];
  if (keyHash !== undefined)
    return isKeyHash(keyHash)
      ? good({ hash: hash.value, credential: { kind: "key", keyHash } })
      : bad("key_hash must be the hash of a managed key", "key_hash");
  const { mark, issuer, user_path: userPath, names, expires_at_ms: expiresAtMs } = fields;
  if (!isKeyHash(mark)) return badMark();
  if (!isName(issuer)) return bad(`issuer must be a text, not ${show(issuer)}`, "issuer");
  if (typeof userPath !== "string" || !isNormalUserPath(userPath))
    return bad(`user_path must be a user path, not ${show(userPath)}`, "user_path");
  if (!areNames(names)) return badNames();
  if (!isMoment(expiresAtMs))
    return bad(`expires_at_ms must be a time, not ${show(expiresAtMs)}`, "expires_at_ms");
  return good({
    hash: hash.value,
    credential: { kind: "jwt", mark, issuer, userPath, names, expiresAtMs },
  });
}

/** The body of `sessions.open-admin`: for the master key, or for a role that claims grant. */
export function parseAdminOpening(body: unknown): Checked<SessionOpening> {
  const hash = parseSessionHash(body);
  if (!hash.ok) return hash;
  const fields = body as Readonly<Record<string, unknown>>;
  const { mark, role, path, who, names, expires_at_ms: expiresAtMs } = fields;
  if (!isKeyHash(mark)) return badMark();
  if (role === undefined) return good({ hash: hash.value, credential: { kind: "admin", mark } });
  if (!isAdminRole(role)) return bad(`role must be a role, not ${show(role)}`, "role");
  if (typeof path !== "string" || !isNormalUserPath(path))
    return bad(`path must be a user path, not ${show(path)}`, "path");
  if (!isName(who) || who.length > auditTextCharsMax) return bad("who must be a text", "who");
  if (!isMoment(expiresAtMs))
    return bad(`expires_at_ms must be a time, not ${show(expiresAtMs)}`, "expires_at_ms");
  if (!areNames(names)) return badNames();
  const granted = { mark, role, path, who, names, expiresAtMs };
  return good({ hash: hash.value, credential: { kind: "granted", ...granted } });
}

/** The body of `sessions.check` and `sessions.close`: the hash of the session's token. */
export function parseSessionHash(body: unknown): Checked<string> {
  const hash = isObject(body) ? body["session_hash"] : undefined;
  return isKeyHash(hash)
    ? good(hash)
    : bad("session_hash must be the SHA-256 of a session's token", "session_hash");
}

function badMark(): Checked<never> {
  return bad("mark must be that of the session's credential", "mark");
}

function areNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= namesMax && value.every(isName);
}

function badNames(): Checked<never> {
  return bad(`names must be at most ${namesMax} texts`, "names");
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= nameCharsMax;
}
