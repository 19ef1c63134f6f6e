/**
 * The managed keys in memory: found by their hash for each request, by their number otherwise. They
 * are never removed, so that a key's id always identifies its key, and a gateway that had a key
 * never opens again by itself. Of a deleted key a tombstone stays: its number, and its labels, to
 * which requests in flight are still charged.
 */

import { keyUseWrittenMs } from "../../shared/domain/credential-bounds.js";
import { type KeyDefinition, keyId } from "../../shared/domain/managed-key.js";

export interface ManagedKey extends KeyDefinition {
  readonly number: number;
  /** `key_7`. */
  readonly id: string;
  /** SHA-256 of the key, in base64url. */
  hash: string;
  redacted: string;
  /** Its secrets from before it was rotated, newest first; some may have ended. */
  oldSecrets: readonly OldSecret[];
  readonly createdAtMs: number;
  /** Null as long as it isn't deactivated. */
  deactivatedAtMs: number | null;
  /** Null as long as it isn't deleted; then its hash, name and path are gone. */
  readonly deletedAtMs: number | null;
  /** When a request last called with it; null: never. */
  lastUsedAtMs: number | null;
  /** The last use that the store knows, or is about to. */
  writtenUseMs: number | null;
}

/** A key's secret that another has taken the place of. */
export interface OldSecret {
  readonly hash: string;
  readonly redacted: string;
  /** From this moment on it is refused. */
  readonly untilMs: number;
  lastUsedAtMs: number | null;
}

export const keyStatuses = ["active", "expired", "deactivated"] as const;
type KeyStatus = (typeof keyStatuses)[number];

interface NewSecret {
  readonly hash: string;
  readonly redacted: string;
}

export interface KeyRing {
  /** How many there are, whatever their status, deleted ones included. */
  readonly size: number;
  /** How many of them are deleted. */
  readonly deleted: number;
  /** The number that the next key gets. */
  readonly nextNumber: number;
  /**
   * The key with this hash, be it that of an old secret, whatever its status: one look into a map,
   * whose time reveals nothing about a key to a caller that doesn't have all of it.
   */
  find(hash: string): ManagedKey | undefined;
  /** The key with this number, or its tombstone. */
  byNumber(number: number): ManagedKey | undefined;
  /** Up to `count` keys below this number, newest first, without the deleted ones. */
  newest(below: number, count: number): readonly ManagedKey[];
  add(key: Omit<ManagedKey, "id" | "writtenUseMs">): ManagedKey;
  /** Puts a tombstone in the place of a key. */
  bury(key: ManagedKey, nowMs: number): ManagedKey;
  /** Gives a key another secret; those until now work until `untilMs` at most. */
  rotate(key: ManagedKey, secret: NewSecret, untilMs: number, nowMs: number): void;
  /** A request calls with the secret of this hash. */
  use(key: ManagedKey, hash: string, nowMs: number): void;
  /**
   * Up to `count` keys whose last use in the store is out of date by `keyUseWrittenMs` or more.
   */
  takeUsed(count: number): readonly ManagedKey[];
}

/** What is left of a deleted key in place of what it was. */
const nothing = {
  hash: "",
  redacted: "",
  oldSecrets: [],
  name: null,
  userPath: null,
  expiresAtMs: null,
  lastUsedAtMs: null,
  writtenUseMs: null,
};

export function createKeyRing(): KeyRing {
  const byHash = new Map<string, ManagedKey>();
  // By ascending number.
  const ordered: ManagedKey[] = [];
  /** The keys whose last use is to be written. */
  const used = new Set<ManagedKey>();
  let deleted = 0;

  /** The index of the first key with at least this number. */
  function indexOf(number: number): number {
    let low = 0;
    let high = ordered.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (ordered[middle]!.number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    get size() {
      return ordered.length;
    },
    get deleted() {
      return deleted;
    },
    get nextNumber() {
      return (ordered.at(-1)?.number ?? 0) + 1;
    },
    find: (hash) => byHash.get(hash),
    byNumber(number) {
      const key = ordered[indexOf(number)];
      return key?.number === number ? key : undefined;
    },
    newest(below, count) {
      const found: ManagedKey[] = [];
      for (let i = indexOf(below) - 1; i >= 0 && found.length < count; i--)
        if (ordered[i]!.deletedAtMs === null) found.push(ordered[i]!);
      return found;
    },
    add({
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
      deletedAtMs,
      lastUsedAtMs,
    }) {
      const key: ManagedKey = {
        number,
        id: keyId(number),
        hash,
        redacted,
        oldSecrets,
        name,
        userPath,
        labels,
        createdAtMs,
        expiresAtMs,
        deactivatedAtMs,
        deletedAtMs,
        lastUsedAtMs,
        writtenUseMs: lastUsedAtMs,
      };
      if (deletedAtMs === null) byHash.set(hash, key);
      else deleted++;
      for (const old of oldSecrets) byHash.set(old.hash, key);
      ordered.push(key);
      return key;
    },
    bury(key, nowMs) {
      const deactivatedAtMs = key.deactivatedAtMs ?? nowMs;
      const tombstone = { ...key, ...nothing, deactivatedAtMs, deletedAtMs: nowMs };
      for (const { hash } of [key, ...key.oldSecrets]) byHash.delete(hash);
      used.delete(key);
      ordered[indexOf(key.number)] = tombstone;
      deleted++;
      return tombstone;
    },
    rotate(key, { hash, redacted }, untilMs, nowMs) {
      const last = { ...key, untilMs };
      for (const secret of [last, ...key.oldSecrets]) byHash.delete(secret.hash);
      key.oldSecrets = [last, ...key.oldSecrets]
        .map((old) => ({
          hash: old.hash,
          redacted: old.redacted,
          untilMs: Math.min(old.untilMs, untilMs),
          lastUsedAtMs: old.lastUsedAtMs,
        }))
        .filter((old) => old.untilMs > nowMs);
      key.hash = hash;
      key.redacted = redacted;
      for (const secret of [key, ...key.oldSecrets]) byHash.set(secret.hash, key);
    },
    use(key, hash, nowMs) {
      key.lastUsedAtMs = nowMs;
      const old = key.hash === hash ? undefined : key.oldSecrets.find((one) => one.hash === hash);
      if (old !== undefined) old.lastUsedAtMs = nowMs;
      const { writtenUseMs } = key;
      if (writtenUseMs === null || Math.abs(nowMs - writtenUseMs) >= keyUseWrittenMs) used.add(key);
    },
    takeUsed(count) {
      const taken: ManagedKey[] = [];
      for (const key of used) {
        if (taken.length === count) break;
        used.delete(key);
        key.writtenUseMs = key.lastUsedAtMs;
        taken.push(key);
      }
      return taken;
    },
  };
}

/** The status of a key at this moment of the daemon's clock. */
export function keyStatus({ deactivatedAtMs, expiresAtMs }: ManagedKey, nowMs: number): KeyStatus {
  if (deactivatedAtMs !== null) return "deactivated";
  return expiresAtMs !== null && nowMs >= expiresAtMs ? "expired" : "active";
}

/** Those of a key's old secrets that still work. */
export function workingOldSecrets(
  { oldSecrets }: Pick<ManagedKey, "oldSecrets">,
  nowMs: number,
): readonly OldSecret[] {
  return oldSecrets.filter(({ untilMs }) => nowMs < untilMs);
}

/** Whether a request with the secret of this hash, which is one of the key's, is accepted. */
export function isAccepted(key: ManagedKey, hash: string, nowMs: number): boolean {
  const expiresAtMs = expiryOf(key, hash);
  return key.deactivatedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs);
}

/** When the secret of this hash, which is one of the key's, ceases to be accepted; null: never. */
export function expiryOf({ expiresAtMs, oldSecrets }: ManagedKey, hash: string): number | null {
  const untilMs = oldSecrets.find((old) => old.hash === hash)?.untilMs ?? null;
  if (untilMs === null || expiresAtMs === null) return untilMs ?? expiresAtMs;
  return Math.min(untilMs, expiresAtMs);
}
