/**
 * The managed keys in memory: found by their hash for each request, by their number otherwise. They
 * are never removed, so that a key's id always identifies its key, and a gateway that had a key
 * never opens again by itself. Of a deleted key a tombstone stays: its number, and its labels, to
 * which requests in flight are still charged.
 */

import { keyUseWrittenMs } from "../../shared/domain/credential-bounds.js";
import { type KeyDefinition, type KeyStatus, keyId } from "../../shared/domain/managed-key.js";

export interface ManagedKey extends Omit<KeyDefinition, "models"> {
  readonly number: number;
  /** `key_7`. */
  readonly id: string;
  /** SHA-256 of the key, in base64url. */
  hash: string;
  redacted: string;
  models: KeyDefinition["models"];
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

interface NewSecret {
  readonly hash: string;
  readonly redacted: string;
}

/** What is left of a deleted key in place of what it was. */
export const nothing = {
  hash: "",
  redacted: "",
  oldSecrets: [],
  name: null,
  userPath: null,
  models: null,
  expiresAtMs: null,
  lastUsedAtMs: null,
  writtenUseMs: null,
};

export class KeyRing {
  readonly #byHash = new Map<string, ManagedKey>();
  /** By ascending number. */
  readonly #ordered: ManagedKey[] = [];
  /** The keys whose last use is to be written. */
  readonly #used = new Set<ManagedKey>();
  #deleted = 0;

  /** How many there are, whatever their status, deleted ones included. */
  get size(): number {
    return this.#ordered.length;
  }

  /** How many of them are deleted. */
  get deleted(): number {
    return this.#deleted;
  }

  /** The number that the next key gets. */
  get nextNumber(): number {
    return (this.#ordered.at(-1)?.number ?? 0) + 1;
  }

  /**
   * The key with this hash, be it that of an old secret, whatever its status: one look into a map,
   * whose time reveals nothing about a key to a caller that doesn't have all of it.
   */
  find(hash: string): ManagedKey | undefined {
    return this.#byHash.get(hash);
  }

  /** The key with this number, or its tombstone. */
  byNumber(number: number): ManagedKey | undefined {
    const key = this.#ordered[this.#indexOf(number)];
    return key?.number === number ? key : undefined;
  }

  /** Up to `count` keys below this number, newest first, without the deleted ones. */
  newest(below: number, count: number): readonly ManagedKey[] {
    const found: ManagedKey[] = [];
    for (let i = this.#indexOf(below) - 1; i >= 0 && found.length < count; i--) {
      const key = this.#ordered[i]!;
      if (key.deletedAtMs === null) found.push(key);
    }
    return found;
  }

  add(restored: Omit<ManagedKey, "id" | "writtenUseMs">): ManagedKey {
    // Field by field: it is read with each of its requests (docs/decisions/field-copies.md).
    const key: ManagedKey = {
      number: restored.number,
      id: keyId(restored.number),
      hash: restored.hash,
      redacted: restored.redacted,
      oldSecrets: restored.oldSecrets,
      name: restored.name,
      userPath: restored.userPath,
      labels: restored.labels,
      models: restored.models,
      createdAtMs: restored.createdAtMs,
      expiresAtMs: restored.expiresAtMs,
      deactivatedAtMs: restored.deactivatedAtMs,
      deletedAtMs: restored.deletedAtMs,
      lastUsedAtMs: restored.lastUsedAtMs,
      writtenUseMs: restored.lastUsedAtMs,
    };
    if (key.deletedAtMs === null) this.#byHash.set(key.hash, key);
    else this.#deleted++;
    for (const old of key.oldSecrets) this.#byHash.set(old.hash, key);
    this.#ordered.push(key);
    return key;
  }

  /** Puts a tombstone in the place of a key. */
  bury(key: ManagedKey, nowMs: number): ManagedKey {
    const deactivatedAtMs = key.deactivatedAtMs ?? nowMs;
    const tombstone = { ...key, ...nothing, deactivatedAtMs, deletedAtMs: nowMs };
    for (const { hash } of [key, ...key.oldSecrets]) this.#byHash.delete(hash);
    this.#used.delete(key);
    this.#ordered[this.#indexOf(key.number)] = tombstone;
    this.#deleted++;
    return tombstone;
  }

  /** Gives a key another secret; those until now work until `untilMs` at most. */
  rotate(key: ManagedKey, { hash, redacted }: NewSecret, untilMs: number, nowMs: number): void {
    const last = { ...key, untilMs };
    for (const secret of [last, ...key.oldSecrets]) this.#byHash.delete(secret.hash);
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
    for (const secret of [key, ...key.oldSecrets]) this.#byHash.set(secret.hash, key);
  }

  /** A request calls with the secret of this hash. */
  use(key: ManagedKey, hash: string, nowMs: number): void {
    key.lastUsedAtMs = nowMs;
    const old = key.hash === hash ? undefined : key.oldSecrets.find((one) => one.hash === hash);
    if (old !== undefined) old.lastUsedAtMs = nowMs;
    const { writtenUseMs } = key;
    if (writtenUseMs === null || Math.abs(nowMs - writtenUseMs) >= keyUseWrittenMs)
      this.#used.add(key);
  }

  /**
   * Up to `count` keys whose last use in the store is out of date by `keyUseWrittenMs` or more.
   */
  takeUsed(count: number): readonly ManagedKey[] {
    const taken: ManagedKey[] = [];
    for (const key of this.#used) {
      if (taken.length === count) break;
      this.#used.delete(key);
      key.writtenUseMs = key.lastUsedAtMs;
      taken.push(key);
    }
    return taken;
  }

  /** The index of the first key with at least this number. */
  #indexOf(number: number): number {
    let low = 0;
    let high = this.#ordered.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ordered[middle]!.number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
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
