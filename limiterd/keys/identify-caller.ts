/**
 * Which user path a request belongs to, and whether its caller is known (docs/authentication.md).
 * The proxy has authenticated some callers itself; managed keys are judged here.
 */
import type { KeyOfCaller } from "../../shared/wire/message-from-daemon.js";
import type { Claimed } from "../../shared/wire/message-to-daemon.js";
import { isAccepted, type KeyRing, type ManagedKey } from "./key-ring.js";

interface Identified {
  readonly userPath: string;
  /** Null for a caller without a managed key. */
  readonly key: ManagedKey | null;
}

/**
 * Null: the request is to be refused with 401. From outside, unknown, expired and deactivated keys
 * look the same. An active key is noted as used.
 */
export function identifyCaller(
  keys: KeyRing,
  { userPath, credential }: Claimed,
  nowMs: number,
): Identified | null {
  if (credential === "authenticated") return { userPath, key: null };
  if (credential === "none") return keys.size === 0 ? { userPath, key: null } : null;
  const key = keys.find(credential);
  if (key === undefined || !isAccepted(key, credential, nowMs)) return null;
  keys.use(key, credential, nowMs);
  return { userPath: key.userPath ?? userPath, key };
}

/** What the proxy receives of a caller's key. */
export function keyOf({ userPath, key }: Identified): KeyOfCaller | null {
  return key === null ? null : { userPath, keyId: key.id };
}
