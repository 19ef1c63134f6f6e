/**
 * Managed keys in the store: `keys`, by number, has [hash, redacted, name, userPath, labels,
 * createdAtMs, expiresAtMs, deactivatedAtMs, lastUsedAtMs, oldSecrets, models], and a key of
 * administration its role after them; an old secret is [hash, redacted, untilMs, lastUsedAtMs]. A
 * deleted key has [labels, createdAtMs, deletedAtMs]. The last use is written minutes later
 * (`start-timers.ts`).
 */
import { isAdminRole } from "../../shared/access/admin-role.js";
import { type ModelPatterns, parseModelPatterns } from "../../shared/access/allowed-models.js";
import { isCount } from "../../shared/checked.js";
import { isKeyHash, isRedactedKey } from "../../shared/domain/managed-key.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import { isMoment } from "../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { erasedFields } from "./changed-key.js";
import { type KeyFields, KeyRing, type OldSecret } from "./key-ring.js";

/** Shared by keys without labels or old secrets: most of up to 200,000. */
const none: readonly never[] = [];

/** The change that writes a key. */
export function keyChange({
  number,
  hash,
  redacted,
  name,
  userPath,
  labels,
  models,
  role,
  createdAtMs,
  expiresAtMs,
  deactivatedAtMs,
  deletedAtMs,
  lastUsedAtMs,
  oldSecrets,
}: KeyFields): Change {
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
      models,
      ...(role === null ? [] : [role]),
    ],
  };
}

/**
 * Restores all keys. Throws `StoreUnreadableError` for an invalid entry: an unreadable key could be
 * a deactivated one.
 */
export function restoreKeys(store: Store): KeyRing {
  const ring = new KeyRing();
  for (const { key, value } of store.entries("keys")) {
    ring.add(keyFromStored(key, value) ?? throwMalformed(store, "keys", key));
  }
  return ring;
}

/** Null for what `keyChange` never wrote. */
export function keyFromStored(
  number: string | number,
  value: readonly unknown[],
): KeyFields | null {
  if (value.length === 3) return tombstoneFromStored(number, value);
  const [hash, redacted, name, userPath, labels, createdAtMs, expiresAtMs, deactivatedAtMs] = value;
  const [lastUsedAtMs, storedSecrets, storedModels, role = null] = value.slice(8);
  const oldSecrets = oldSecretsFromStored(storedSecrets);
  const models = modelsFromStored(storedModels);
  if (oldSecrets === null || models === undefined) return null;
  if (!isCount(number, 1) || !isKeyHash(hash) || !isRedactedKey(redacted)) return null;
  if (
    !(name === null || typeof name === "string") ||
    !(userPath === null || (typeof userPath === "string" && isNormalUserPath(userPath)))
  )
    return null;
  if (!isLabels(labels) || !(role === null || isAdminRole(role))) return null;
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
    labels: labels.length === 0 ? none : labels,
    models,
    role,
    createdAtMs,
    expiresAtMs,
    deactivatedAtMs,
    deletedAtMs: null,
    lastUsedAtMs,
  };
}

/** The fields by which hosts distinguish two keys with the same number. */
interface KeyOutline {
  /** Null for a deleted key. */
  readonly hash: string | null;
  readonly createdAtMs: unknown;
  /** Whether it is deactivated or deleted. */
  readonly hasEnded: boolean;
}

/**
 * The outline of any value, even one that `keyChange` never wrote; null counts as a deleted key.
 */
export function outlineOf(value: readonly unknown[] | null): KeyOutline {
  if (value === null) return { hash: null, createdAtMs: undefined, hasEnded: true };
  if (value.length <= 3) return { hash: null, createdAtMs: value[1], hasEnded: true };
  const [hash, , , , , createdAtMs, , deactivatedAtMs] = value;
  return {
    hash: typeof hash === "string" ? hash : null,
    createdAtMs,
    hasEnded: deactivatedAtMs !== null,
  };
}

function oldSecretsFromStored(value: unknown): readonly OldSecret[] | null {
  if (!Array.isArray(value)) return null;
  if (value.length === 0) return none;
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

/** Null: the key allows all models. Undefined for what `keyChange` never wrote. */
function modelsFromStored(value: unknown): ModelPatterns | null | undefined {
  if (value === null) return null;
  const models = parseModelPatterns(value, "models");
  return models.ok ? models.value : undefined;
}

function tombstoneFromStored(
  number: string | number,
  [labels, createdAtMs, deletedAtMs]: readonly unknown[],
): KeyFields | null {
  if (!isCount(number, 1) || !isCount(createdAtMs) || !isCount(deletedAtMs)) return null;
  if (!isLabels(labels)) return null;
  return {
    ...erasedFields,
    number,
    labels,
    createdAtMs,
    deactivatedAtMs: deletedAtMs,
    deletedAtMs,
  };
}

function isLabels(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((label) => typeof label === "string");
}
