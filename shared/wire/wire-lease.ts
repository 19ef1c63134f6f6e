/**
 * A lease as the arrays of the wire, and their check: those of hellos and holds, and the fields of
 * a settle that name what it ends. The grammar is in `to-wire.ts`.
 */
import { leasesPerHello, subjectBytesMax } from "../bounds.js";
import { isCount } from "../checked.js";
import { isNormalUserPath } from "../domain/user-path.js";
import type { Lease } from "./message-to-daemon.js";

export function leaseToWire(lease: Lease): readonly unknown[] {
  return [
    lease.lease,
    lease.userPath,
    lease.admittedAtMs,
    lease.lsn,
    attemptToWire(lease),
    lease.submission,
  ];
}

export function attemptToWire({
  target,
  targetAtMs,
  targetLsn,
}: Pick<Lease, "target" | "targetAtMs" | "targetLsn">): readonly unknown[] {
  return target === null ? [] : [target.provider, target.model, targetAtMs, targetLsn];
}

/** Those of a hello or a hold; null when they break the grammar. */
export function leasesFromWire(flat: unknown): Lease[] | null {
  if (!Array.isArray(flat) || flat.length > leasesPerHello) return null;
  const leases: Lease[] = [];
  for (const item of flat as unknown[]) {
    const lease = Array.isArray(item) ? leaseFromWire(item) : null;
    if (lease === null || lease.lease === 0 || (lease.submission && lease.target !== null))
      return null;
    leases.push(lease);
  }
  return leases;
}

/** Null when it breaks the grammar. */
export function leaseFromWire(flat: readonly unknown[]): Lease | null {
  const [lease, userPath, admittedAtMs, lsn, attempt, submission] = flat;
  if (!isCount(lease) || !isCount(admittedAtMs) || !isCount(lsn) || typeof submission !== "boolean")
    return null;
  if (typeof userPath !== "string" || !isNormalUserPath(userPath) || !Array.isArray(attempt))
    return null;
  if (attempt.length === 0)
    return {
      lease,
      userPath,
      admittedAtMs,
      lsn,
      target: null,
      targetAtMs: 0,
      targetLsn: 0,
      submission,
    };
  const [provider, model, targetAtMs, targetLsn] = attempt as unknown[];
  if (!isName(provider) || !isModelName(model) || !isCount(targetAtMs) || !isCount(targetLsn))
    return null;
  return {
    lease,
    userPath,
    admittedAtMs,
    lsn,
    target: { provider, model },
    targetAtMs,
    targetLsn,
    submission,
  };
}

/** A provider's name in a frame. */
export function isName(value: unknown): value is string {
  return isModelName(value) && value.length > 0;
}

/** A model's name in a frame: empty where a request names none. */
export function isModelName(value: unknown): value is string {
  return typeof value === "string" && value.length <= subjectBytesMax;
}
