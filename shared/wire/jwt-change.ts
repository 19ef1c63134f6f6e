/** A change of the list of denied JWTs, as the array of the wire, described in `to-wire.ts`. */

import { deniedClaims, type JwtDenial, type JwtName } from "../domain/jwt-denial.js";
import { isMoment } from "../time.js";
import type { JwtChange } from "./message-from-daemon.js";

export function jwtChangeToWire({ denied, allowed, complete }: JwtChange): readonly unknown[] {
  return [
    complete,
    denied.flatMap((denial) => [...flatName(denial), denial.expiresAtMs ?? 0]),
    allowed.flatMap(flatName),
  ];
}

function flatName({ claim, value, issuer }: JwtName): unknown[] {
  return [claim, value, issuer ?? ""];
}

/** Null for what breaks the grammar. */
export function jwtChangeFromWire(raw: unknown): JwtChange | null {
  if (!Array.isArray(raw)) return null;
  const [complete, flatDenied, flatAllowed] = raw as readonly unknown[];
  if (typeof complete !== "boolean") return null;
  if (!Array.isArray(flatDenied) || !Array.isArray(flatAllowed)) return null;
  const denied: JwtDenial[] = [];
  for (let i = 0; i < flatDenied.length; i += 4) {
    const name = nameFromWire(flatDenied.slice(i, i + 3));
    const expiresAtMs: unknown = flatDenied[i + 3];
    if (name === null || !isMoment(expiresAtMs)) return null;
    denied.push({ ...name, expiresAtMs: expiresAtMs === 0 ? null : expiresAtMs });
  }
  const allowed: JwtName[] = [];
  for (let i = 0; i < flatAllowed.length; i += 3) {
    const name = nameFromWire(flatAllowed.slice(i, i + 3));
    if (name === null) return null;
    allowed.push(name);
  }
  return { denied, allowed, complete };
}

function nameFromWire([rawClaim, value, issuer]: readonly unknown[]): JwtName | null {
  const claim = deniedClaims.find((known) => known === rawClaim);
  if (claim === undefined || typeof value !== "string" || typeof issuer !== "string") return null;
  return { claim, value, issuer: issuer === "" ? null : issuer };
}
