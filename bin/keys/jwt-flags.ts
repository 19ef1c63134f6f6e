/** The flags of `sluice jwts deny` and `allow`, as the requests to the daemon. Pure. */
import { parseJwtName } from "../../shared/domain/jwt-denial.js";
import type { FromArguments } from "../session/command-failure.js";
import { expiryProblem, readExpiry } from "./key-flags.js";

export interface JwtFlags {
  readonly jti?: string;
  readonly sub?: string;
  readonly issuer?: string;
  readonly expires?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The body of DELETE /admin/denied-jwts. */
export function jwtNameFromFlags({ jti, sub, issuer }: JwtFlags): FromArguments<Fields> {
  const name = {
    ...(jti === undefined ? {} : { jti }),
    ...(sub === undefined ? {} : { sub }),
    ...(issuer === undefined ? {} : { issuer }),
  };
  const checked = parseJwtName(name);
  if (checked.ok) return { ok: true, value: name };
  const { message, param } = checked.failure;
  if (jti === undefined && sub === undefined)
    return { ok: false, problems: [{ message: "--jti or --sub is required", param: "--jti" }] };
  if (jti !== undefined && sub !== undefined)
    return {
      ok: false,
      problems: [{ message: "--jti can't be combined with --sub", param: "--sub" }],
    };
  return {
    ok: false,
    problems: [{ message: `--${message}`, param: param === null ? null : `--${param}` }],
  };
}

/** `jwt` is the body of PUT /admin/denied-jwts; the daemon's clock counts `expires_in_seconds`. */
export function jwtDenialFromFlags(flags: JwtFlags): FromArguments<Fields> {
  const name = jwtNameFromFlags(flags);
  const expiry = flags.expires === undefined ? {} : readExpiry(flags.expires);
  if (expiry === null)
    return {
      ok: false,
      problems: [...(name.ok ? [] : name.problems), expiryProblem(flags.expires)],
    };
  if (!name.ok) return name;
  const jwt = { ...name.value, ...(expiry.at === undefined ? {} : { expires_at: expiry.at }) };
  return { ok: true, value: { jwt, expires_in_seconds: expiry.inSeconds ?? null } };
}
