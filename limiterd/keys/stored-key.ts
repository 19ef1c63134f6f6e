/**
 * Managed keys as the store keeps them: `keys`, [hash, redacted, name, userPath, labels,
 * createdAtMs, expiresAtMs, deactivatedAtMs, lastUsedAtMs, oldSecrets] by number, an old secret
 * being [hash, redacted, untilMs, lastUsedAtMs]; of a deleted one [labels, createdAtMs,
 * deletedAtMs]. A use is written by `flush-key-uses.ts`, minutes later.
 */
import { isCount } from "../../shared/checked.js";
import { isKeyHash, isRedactedKey } from "../../shared/domain/managed-key.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import { isMoment } from "../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { KeyRing, type ManagedKey, nothing, type OldSecret } from "./key-ring.js";

/** Writes a key as it is now. */
export function keyChange({
  number,
  hash,
  redacted,
  name,
  userPath,
  labels,
  createdAtMs,
  expiresAtMs,
  deactivatedAtMs,
  deletedAtMs,
  lastUsedAtMs,
  oldSecrets,
}: ManagedKey): Change {
  if (deletedAtMs !== null)
    return { table: "keys", key: number, value: [labels, createdAtMs, deletedAtMs] };
  return {
    table: "keys",
    key: number,
    value: [
      hash,
      redacted,
      name,
      userPath,
      labels,
      createdAtMs,
      expiresAtMs,
      deactivatedAtMs,
      lastUsedAtMs,
      oldSecrets.map((old) => [old.hash, old.redacted, old.untilMs, old.lastUsedAtMs]),
    ],
  };
}

/**
 * All keys of the store. Throws `StoreUnreadableError` when an entry isn't what it should be: a key
 * that can't be read could be a deactivated one.
 */
export function restoreKeys(store: Store): KeyRing {
  const ring = new KeyRing();
  for (const { key, value } of store.entries("keys")) {
    ring.add(keyFromStored(key, value) ?? throwMalformed(store, "keys", key));
  }
  return ring;
}

function keyFromStored(
  number: string | number,
  value: readonly unknown[],
): Parameters<KeyRing["add"]>[0] | null {
  if (value.length === 3) return tombstoneFromStored(number, value);
  const [hash, redacted, name, userPath, labels, createdAtMs, expiresAtMs, deactivatedAtMs] = value;
  // Keys of earlier releases have neither.
  const [lastUsedAtMs = null, storedSecrets = []] = value.slice(8);
  const oldSecrets = oldSecretsFromStored(storedSecrets);
  if (oldSecrets === null) return null;
  if (!isCount(number, 1) || !isKeyHash(hash) || !isRedactedKey(redacted)) return null;
  if (
    !(name === null || typeof name === "string") ||
    !(userPath === null || (typeof userPath === "string" && isNormalUserPath(userPath)))
  )
    return null;
  if (!isLabels(labels)) return null;
  if (
    !isMoment(createdAtMs) ||
    !(expiresAtMs === null || isMoment(expiresAtMs)) ||
    !(deactivatedAtMs === null || isMoment(deactivatedAtMs)) ||
    !(lastUsedAtMs === null || isMoment(lastUsedAtMs))
  )
    return null;
  return {
    number,
    hash,
    redacted,
    oldSecrets,
    name,
    userPath,
    labels,
    createdAtMs,
    expiresAtMs,
    deactivatedAtMs,
    deletedAtMs: null,
    lastUsedAtMs,
  };
}

function oldSecretsFromStored(value: unknown): readonly OldSecret[] | null {
  if (!Array.isArray(value)) return null;
  const secrets: OldSecret[] = [];
  for (const item of value as unknown[]) {
    if (!Array.isArray(item)) return null;
    const [hash, redacted, untilMs, lastUsedAtMs] = item as unknown[];
    if (!isKeyHash(hash) || !isRedactedKey(redacted) || !isMoment(untilMs)) return null;
    if (!(lastUsedAtMs === null || isMoment(lastUsedAtMs))) return null;
    secrets.push({ hash, redacted, untilMs, lastUsedAtMs });
  }
  return secrets;
}

function tombstoneFromStored(
  number: string | number,
  [labels, createdAtMs, deletedAtMs]: readonly unknown[],
): Parameters<KeyRing["add"]>[0] | null {
  if (!isCount(number, 1) || !isCount(createdAtMs) || !isCount(deletedAtMs)) return null;
  if (!isLabels(labels)) return null;
  return { ...nothing, number, labels, createdAtMs, deactivatedAtMs: deletedAtMs, deletedAtMs };
}

function isLabels(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((label) => typeof label === "string");
}
