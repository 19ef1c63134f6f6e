/**
 * On whose path a request is, and whether it may be asked for at all (CONTRACT section 2). The
 * proxy vouches for some callers; keys are judged here.
 */
import type { Claimed, KeyOfCaller } from "../../shared/wire/message.js";
import { type KeyRing, keyStatus, type ManagedKey } from "./key-ring.js";

export interface Identified {
  readonly userPath: string;
  /** Null for a caller without a managed key. */
  readonly key: ManagedKey | null;
}

/**
 * Null: the request is to be answered with 401. Unknown, expired and deactivated keys can't be told
 * apart from outside.
 */
export function identifyCaller(
  keys: KeyRing,
  { userPath, credential }: Claimed,
  nowMs: number,
): Identified | null {
  if (credential === "authenticated") return { userPath, key: null };
  if (credential === "none") return keys.size === 0 ? { userPath, key: null } : null;
  const key = keys.find(credential);
  if (key === undefined || keyStatus(key, nowMs) !== "active") return null;
  return { userPath: key.userPath ?? userPath, key };
}

/** What a proxy is told of a caller's key. */
export function keyOf({ userPath, key }: Identified): KeyOfCaller | null {
  return key === null ? null : { userPath, keyId: key.id };
}
