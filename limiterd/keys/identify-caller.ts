/**
 * Which user path a request belongs to, and whether its caller is known (docs/authentication.md).
 * The proxy has authenticated some callers itself; managed keys are judged here.
 */
import type { EndedKey, KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";
import { expiryOf, isAccepted, type KeyRing, type ManagedKey } from "./key-ring.js";

interface Identified {
  readonly kind: "identified";
  readonly userPath: string;
  /** Null for a caller without a managed key. */
  readonly key: ManagedKey | null;
}

/** The request is to be refused with 401. */
interface Unidentified {
  readonly kind: "denied";
  readonly ended: EndedKey | null;
}

/** An active key is noted as used. */
export function identifyCaller(
  keys: KeyRing,
  { userPath, credential }: Claimed,
  nowMs: number,
): Identified | Unidentified {
  if (credential === "authenticated" || (credential === "none" && keys.size === 0))
    return { kind: "identified", userPath, key: null };
  const key = keys.find(credential);
  if (key === undefined) return { kind: "denied", ended: null };
  if (!isAccepted(key, credential, nowMs)) {
    const expiredAtMs = key.deactivatedAtMs === null ? expiryOf(key, credential) : null;
    return { kind: "denied", ended: { keyId: key.id, expiredAtMs } };
  }
  keys.use(key, credential, nowMs);
  return { kind: "identified", userPath: key.userPath ?? userPath, key };
}

/** What the proxy receives of a caller's key. */
export function keyOf({ userPath, key }: Identified): KeyOfCaller | null {
  return key === null ? null : { userPath, keyId: key.id };
}
