/**
 * Denied JWTs, which are refused although they are genuine (`docs/authentication.md`): one token by
 * its `jti`, or all of a subject by its `sub`.
 */

import { deniedClaimBytesMax } from "../bounds.js";
import { asObject, bad, type Checked, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { parseTimestamp } from "../time.js";
import { isPrintable } from "./target-name.js";

export const deniedClaims = ["jti", "sub"] as const;
type DeniedClaim = (typeof deniedClaims)[number];

/** Names the denied tokens. */
export interface JwtName {
  readonly claim: DeniedClaim;
  readonly value: string;
  /** Null for any issuer. */
  readonly issuer: string | null;
}

export interface JwtDenial extends JwtName {
  /** The tokens are accepted again from this time on; null for never. */
  readonly expiresAtMs: number | null;
}

/** One text per name, for look-ups. */
export function jwtNameKey({ claim, value, issuer }: JwtName): string {
  return JSON.stringify([claim, value, issuer]);
}

/** The keys under which a denial of a token with these claims may be found. */
export function namesOfToken(claims: Readonly<Record<string, unknown>>): readonly string[] {
  const issuer = claims["iss"];
  const keys: string[] = [];
  for (const claim of deniedClaims) {
    const value = claims[claim];
    if (typeof value !== "string") continue;
    keys.push(jwtNameKey({ claim, value, issuer: null }));
    if (typeof issuer === "string") keys.push(jwtNameKey({ claim, value, issuer }));
  }
  return keys;
}

const nameFields = ["jti", "sub", "issuer"];

/** The body of DELETE /admin/denied-jwts. */
export function parseJwtName(body: unknown): Checked<JwtName> {
  return parseName(body, nameFields);
}

/** The body of PUT /admin/denied-jwts. `nowMs` is the daemon's clock. */
export function parseJwtDenial(body: unknown, nowMs: number): Checked<JwtDenial> {
  const name = parseName(body, [...nameFields, "expires_at"]);
  if (!name.ok) return name;
  const raw = (body as Readonly<Record<string, unknown>>)["expires_at"];
  if (raw === undefined || raw === null)
    return { ok: true, value: { ...name.value, expiresAtMs: null } };
  const expiresAtMs = typeof raw === "string" ? parseTimestamp(raw) : null;
  if (expiresAtMs === null || expiresAtMs <= nowMs)
    return bad(
      `expires_at must be an RFC 3339 timestamp in the future, not ${show(raw)}`,
      "expires_at",
    );
  return { ok: true, value: { ...name.value, expiresAtMs } };
}

function parseName(body: unknown, fields: readonly string[]): Checked<JwtName> {
  const checked = asObject(body, fields, { nullable: ["expires_at"] });
  if (!checked.ok) return checked;
  const { issuer: rawIssuer } = checked.value;
  const claims = deniedClaims.filter((claim) => checked.value[claim] !== undefined);
  const claim = claims[0];
  if (claim === undefined || claims.length > 1)
    return bad("exactly one of jti and sub is required", "jti");
  const value = parseClaim(checked.value[claim], claim);
  if (!value.ok) return value;
  if (rawIssuer === undefined)
    return { ok: true, value: { claim, value: value.value, issuer: null } };
  const issuer = parseClaim(rawIssuer, "issuer");
  return issuer.ok
    ? { ok: true, value: { claim, value: value.value, issuer: issuer.value } }
    : issuer;
}

/** Checks a claim. It isn't trimmed: it is compared with the token's claim unchanged. */
function parseClaim(raw: unknown, field: string): Checked<string> {
  if (typeof raw !== "string" || raw === "")
    return bad(`${field} must be a text that isn't empty, not ${show(raw)}`, field);
  if (utf8Bytes(raw) > deniedClaimBytesMax)
    return bad(
      `${field} must be at most ${deniedClaimBytesMax} bytes, not ${utf8Bytes(raw)}`,
      field,
    );
  return isPrintable(raw)
    ? { ok: true, value: raw }
    : bad(`${field} must not hold control characters, as ${show(raw)} does`, field);
}
