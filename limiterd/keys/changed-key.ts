/** The new values of a managed key that is rotated, deactivated or deleted. */
import { oldSecretsMax, rememberedSecretsMax } from "../../shared/bounds.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import { type KeyFields, keyStatus, type ManagedKey, workingOldSecrets } from "./key-ring.js";

interface NewSecret {
  readonly hash: string;
  readonly redacted: string;
}

/** The fields of a deleted key that replace its former ones. */
export const erasedFields = {
  hash: "",
  redacted: "",
  oldSecrets: [],
  name: null,
  userPath: null,
  models: null,
  role: null,
  expiresAtMs: null,
  lastUsedAtMs: null,
};

/** Why a key can't be rotated; null if it can. */
export function rotationFlaw(
  key: ManagedKey,
  overlapSeconds: number,
  nowMs: number,
): Failure | null {
  const status = keyStatus(key, nowMs);
  if (status !== "active")
    return invalid(`${key.id} is ${status}: issue another key in its place`, "id");
  const working = workingOldSecrets(key, nowMs);
  if (overlapSeconds === 0 || working.length < oldSecretsMax) return null;
  return invalid(
    `${key.id} has ${working.length} old secrets that still work, the most allowed; ` +
      "an overlap of 0 seconds ends them",
    "overlap_seconds",
  );
}

/**
 * A key with a new secret; the former secrets work until `untilMs` at most. Those that have ended
 * are remembered, so that no file or import makes a key of them again.
 */
export function rotatedKey(
  key: KeyFields,
  { hash, redacted }: NewSecret,
  untilMs: number,
  nowMs: number,
): KeyFields {
  const oldSecrets = [{ ...key, untilMs }, ...key.oldSecrets]
    .map((old) => ({
      hash: old.hash,
      redacted: old.redacted,
      untilMs: Math.min(old.untilMs, untilMs),
      lastUsedAtMs: old.lastUsedAtMs,
    }))
    .filter((old, i) => old.untilMs > nowMs || i < rememberedSecretsMax);
  return { ...key, hash, redacted, oldSecrets };
}

/** The deactivated key; an earlier deactivation keeps its time. */
export function deactivatedKey(key: KeyFields, nowMs: number): KeyFields {
  return { ...key, deactivatedAtMs: key.deactivatedAtMs ?? nowMs };
}

/** The tombstone of a key. */
export function deletedKey(key: KeyFields, nowMs: number): KeyFields {
  const deactivatedAtMs = key.deactivatedAtMs ?? nowMs;
  return { ...key, ...erasedFields, deactivatedAtMs, deletedAtMs: nowMs };
}
