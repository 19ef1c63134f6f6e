/**
 * Managed keys as the store keeps them: `keys`, [hash, redacted, name, userPath, labels,
 * createdAtMs, expiresAtMs, deactivatedAtMs, lastUsedAtMs, oldSecrets] by number, an old secret
 * being [hash, redacted, untilMs, lastUsedAtMs]; of a deleted one [labels, createdAtMs,
 * deletedAtMs]. A use is written by `start-timers.ts`, minutes later.
 *
 * A key for some models alone is followed by [models, deactivatedAtMs], and has the moment of its
 * creation in the earlier place of `deactivatedAtMs`: a daemon of an earlier release, which doesn't
 * know of models, refuses it.
 */
import { type ModelPatterns, parseModelPatterns } from "../../shared/access/allowed-models.js";
import { isCount } from "../../shared/checked.js";
import { isKeyHash, isRedactedKey } from "../../shared/domain/managed-key.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import { isMoment } from "../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { nothing } from "./changed-key.js";
import { type KeyFields, KeyRing, type OldSecret } from "./key-ring.js";

/** Most keys have neither labels nor old secrets: 200,000 of them needn't have a list each. */
const none: readonly never[] = [];

/** Writes a key as it is now. */
export function keyChange({
  number,
  hash,
  redacted,
  name,
  userPath,
  labels,
  models,
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
      models === null ? deactivatedAtMs : (deactivatedAtMs ?? createdAtMs),
      lastUsedAtMs,
      oldSecrets.map((old) => [old.hash, old.redacted, old.untilMs, old.lastUsedAtMs]),
      ...(models === null ? [] : [[models, deactivatedAtMs]]),
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

/** Null for what `keyChange` never wrote. */
export function keyFromStored(
  number: string | number,
  value: readonly unknown[],
): KeyFields | null {
  if (value.length === 3) return tombstoneFromStored(number, value);
  const [hash, redacted, name, userPath, labels, createdAtMs, expiresAtMs, refusedAtMs] = value;
  // Keys of earlier releases have none of them.
  const [lastUsedAtMs = null, storedSecrets = [], restriction = null] = value.slice(8);
  const oldSecrets = oldSecretsFromStored(storedSecrets);
  const restricted = restrictionFromStored(restriction, refusedAtMs);
  if (oldSecrets === null || restricted === null) return null;
  const { models, deactivatedAtMs } = restricted;
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
    labels: labels.length === 0 ? none : labels,
    models,
    createdAtMs,
    expiresAtMs,
    deactivatedAtMs,
    deletedAtMs: null,
    lastUsedAtMs,
  };
}

/** By what hosts tell the keys of a number apart. */
interface KeyOutline {
  /** Null for a deleted key. */
  readonly hash: string | null;
  readonly createdAtMs: unknown;
  /** It is deactivated or deleted. */
  readonly hasEnded: boolean;
}

/** Of a value that needn't be one of `keyChange`; null: nothing is left of the key. */
export function outlineOf(value: readonly unknown[] | null): KeyOutline {
  if (value === null) return { hash: null, createdAtMs: undefined, hasEnded: true };
  if (value.length <= 3) return { hash: null, createdAtMs: value[1], hasEnded: true };
  const [hash, , , , , createdAtMs, , refusedAtMs, , , restriction] = value;
  const deactivatedAtMs: unknown = Array.isArray(restriction) ? restriction[1] : refusedAtMs;
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

/** `refusedAtMs` is the key's deactivation, unless it is for some models alone. */
function restrictionFromStored(
  value: unknown,
  refusedAtMs: unknown,
): { readonly models: ModelPatterns | null; readonly deactivatedAtMs: unknown } | null {
  if (value === null) return { models: null, deactivatedAtMs: refusedAtMs };
  if (!Array.isArray(value)) return null;
  const [stored, deactivatedAtMs]: readonly unknown[] = value;
  const models = parseModelPatterns(stored, "models");
  return models.ok ? { models: models.value, deactivatedAtMs } : null;
}

function tombstoneFromStored(
  number: string | number,
  [labels, createdAtMs, deletedAtMs]: readonly unknown[],
): KeyFields | null {
  if (!isCount(number, 1) || !isCount(createdAtMs) || !isCount(deletedAtMs)) return null;
  if (!isLabels(labels)) return null;
  return { ...nothing, number, labels, createdAtMs, deactivatedAtMs: deletedAtMs, deletedAtMs };
}

function isLabels(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((label) => typeof label === "string");
}
