/**
 * The managed keys in memory, found by hash for each request and by number otherwise. Keys are
 * never removed, so that an id always names the same key and a gateway that had a key never becomes
 * open. A deleted key leaves a tombstone with its number and its labels, to which requests in
 * flight are still charged.
 */
import { keyUseWrittenMs } from "../../shared/bounds.js";
import {
  isImported,
  type KeyDefinition,
  type KeyStatus,
  keyId,
} from "../../shared/domain/managed-key.js";

export interface ManagedKey extends Omit<KeyDefinition, "models"> {
  readonly number: number;
  /** `key_7`. */
  readonly id: string;
  /** SHA-256 of the key, in base64url. */
  readonly hash: string;
  readonly redacted: string;
  readonly models: KeyDefinition["models"];
  /** Its secrets from before rotations, newest first; some may have expired. */
  readonly oldSecrets: readonly OldSecret[];
  readonly createdAtMs: number;
  /** Null while it is active. */
  readonly deactivatedAtMs: number | null;
  /** Null unless it is deleted; a deleted key has no hash, name and path. */
  readonly deletedAtMs: number | null;
  /** When a request last used it; null: never. */
  lastUsedAtMs: number | null;
  /** The last use that is in the store or being written. */
  writtenUseMs: number | null;
}

/** A secret that a rotation has replaced. */
export interface OldSecret {
  readonly hash: string;
  readonly redacted: string;
  /** When it ends: it is refused from then on. */
  readonly untilMs: number;
  lastUsedAtMs: number | null;
}

/** The fields from which a key is made. */
export type KeyFields = Omit<ManagedKey, "id" | "writtenUseMs">;

/** The uses of one key on another host; those of old secrets by hash. */
interface ReportedUses extends Pick<ManagedKey, "number" | "lastUsedAtMs"> {
  readonly oldSecrets: ReadonlyMap<string, number>;
}

export class KeyRing {
  readonly #byHash = new Map<string, ManagedKey>();
  /** By ascending number. */
  readonly #ordered: ManagedKey[] = [];
  /** The keys whose last use must be written. */
  readonly #used = new Set<ManagedKey>();
  /** The keys whose last use the other hosts don't know yet; null without a cluster. */
  #unsentUses: Set<ManagedKey> | null = null;
  #deleted = 0;
  #imported = 0;

  /** The number of keys, deleted ones included. */
  get size(): number {
    return this.#ordered.length;
  }

  get deletedCount(): number {
    return this.#deleted;
  }

  /** The number of keys that are imported, or were before a rotation; without deleted ones. */
  get importedCount(): number {
    return this.#imported;
  }

  /** The number that the next key gets. */
  get nextNumber(): number {
    return (this.#ordered.at(-1)?.number ?? 0) + 1;
  }

  /**
   * The key whose secret, or old secret, has this hash, with any status. The lookup is one map
   * access, whose time reveals nothing about a key to a caller without the whole secret.
   */
  find(hash: string): ManagedKey | undefined {
    return this.#byHash.get(hash);
  }

  /** The key with this number, or its tombstone. */
  byNumber(number: number): ManagedKey | undefined {
    const key = this.#ordered[this.#indexOf(number)];
    return key?.number === number ? key : undefined;
  }

  /** All keys, deleted ones included. */
  all(): readonly ManagedKey[] {
    return this.#ordered;
  }

  /** Up to `count` keys below this number, newest first, without the deleted ones. */
  newest(below: number, count: number): readonly ManagedKey[] {
    const newestKeys: ManagedKey[] = [];
    for (let i = this.#indexOf(below) - 1; i >= 0 && newestKeys.length < count; i--) {
      const key = this.#ordered[i]!;
      if (key.deletedAtMs === null) newestKeys.push(key);
    }
    return newestKeys;
  }

  /** Adds a key whose number is above all others. */
  add(fields: KeyFields): ManagedKey {
    const key = newManagedKey(fields);
    this.#ordered.push(key);
    this.#index(key);
    return key;
  }

  #index(key: ManagedKey): void {
    if (key.deletedAtMs === null) this.#byHash.set(key.hash, key);
    else this.#deleted++;
    if (wasImported(key)) this.#imported++;
    for (const old of key.oldSecrets) this.#byHash.set(old.hash, key);
  }

  /**
   * Replaces the key with this number by a key or a tombstone, or adds it. Known uses are kept.
   */
  put(fields: KeyFields): ManagedKey {
    const index = this.#indexOf(fields.number);
    const existing = this.#ordered[index];
    const key = newManagedKey(fields);
    if (existing?.number !== key.number) this.#ordered.splice(index, 0, key);
    else {
      for (const { hash } of [existing, ...existing.oldSecrets]) this.#byHash.delete(hash);
      this.#used.delete(existing);
      if (existing.deletedAtMs !== null) this.#deleted--;
      if (wasImported(existing)) this.#imported--;
      if (key.deletedAtMs === null) keepUses(key, existing);
      this.#ordered[index] = key;
      this.#unsentUses?.delete(existing);
      this.#unsentUses?.add(key);
    }
    this.#index(key);
    return key;
  }

  /** Notes that a request has used the secret with this hash. */
  use(key: ManagedKey, hash: string, nowMs: number): void {
    key.lastUsedAtMs = nowMs;
    const old =
      key.hash === hash ? undefined : key.oldSecrets.find((secret) => secret.hash === hash);
    if (old !== undefined) old.lastUsedAtMs = nowMs;
    this.#unsentUses?.add(key);
    this.#noteUse(key);
  }

  #noteUse(key: ManagedKey): void {
    const { lastUsedAtMs, writtenUseMs } = key;
    if (writtenUseMs === null || Math.abs(lastUsedAtMs! - writtenUseMs) >= keyUseWrittenMs)
      this.#used.add(key);
  }

  /** Starts sharing uses with other hosts, beginning with all known ones. */
  shareUses(): void {
    this.#unsentUses = new Set(this.#ordered.filter(({ lastUsedAtMs }) => lastUsedAtMs !== null));
  }

  /** Returns up to `count` keys whose last use must be sent now; they count as sent. */
  takeUnsentUses(count: number): readonly ManagedKey[] {
    const keys: ManagedKey[] = [];
    for (const key of this.#unsentUses ?? []) {
      if (keys.length === count) break;
      this.#unsentUses?.delete(key);
      keys.push(key);
    }
    return keys;
  }

  /** Notes keys whose uses couldn't be sent, so that they are sent later. */
  keepUnsent(keys: readonly ManagedKey[]): void {
    for (const { number } of keys) this.#unsentUses?.add(this.byNumber(number)!);
  }

  /** Applies the uses of keys and old secrets on other hosts. */
  applyUses(reported: readonly ReportedUses[]): void {
    for (const { number, lastUsedAtMs, oldSecrets } of reported) {
      const key = this.byNumber(number);
      if (key === undefined || key.deletedAtMs !== null || lastUsedAtMs === null) continue;
      key.lastUsedAtMs = newest(key.lastUsedAtMs, lastUsedAtMs);
      for (const old of key.oldSecrets)
        old.lastUsedAtMs = newest(old.lastUsedAtMs, oldSecrets.get(old.hash) ?? null);
      this.#noteUse(key);
    }
  }

  /** Up to `count` keys whose last use in the store is stale by `keyUseWrittenMs` or more. */
  takeUsed(count: number): readonly ManagedKey[] {
    const keys: ManagedKey[] = [];
    for (const key of this.#used) {
      if (keys.length === count) break;
      this.#used.delete(key);
      key.writtenUseMs = key.lastUsedAtMs;
      keys.push(key);
    }
    return keys;
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

function wasImported({ redacted, oldSecrets }: ManagedKey): boolean {
  return isImported(redacted) || oldSecrets.some((old) => isImported(old.redacted));
}

function newManagedKey(fields: KeyFields): ManagedKey {
  // Field by field, because each request reads its key (docs/contributing/decisions.md).
  return {
    number: fields.number,
    id: keyId(fields.number),
    hash: fields.hash,
    redacted: fields.redacted,
    oldSecrets: fields.oldSecrets,
    name: fields.name,
    userPath: fields.userPath,
    labels: fields.labels,
    models: fields.models,
    role: fields.role,
    createdAtMs: fields.createdAtMs,
    expiresAtMs: fields.expiresAtMs,
    deactivatedAtMs: fields.deactivatedAtMs,
    deletedAtMs: fields.deletedAtMs,
    lastUsedAtMs: fields.lastUsedAtMs,
    writtenUseMs: fields.lastUsedAtMs,
  };
}

/** Keeps the newest known uses of a key and of its old secrets. */
function keepUses(key: ManagedKey, existing: ManagedKey): void {
  key.lastUsedAtMs = newest(key.lastUsedAtMs, existing.lastUsedAtMs);
  // The caller writes the key with its last use, so no use is left to write.
  key.writtenUseMs = key.lastUsedAtMs;
  for (const old of key.oldSecrets) {
    const before = [existing, ...existing.oldSecrets].find(({ hash }) => hash === old.hash);
    if (before !== undefined) old.lastUsedAtMs = newest(old.lastUsedAtMs, before.lastUsedAtMs);
  }
}

function newest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** The status of a key at this moment of the daemon's clock. */
export function keyStatus({ deactivatedAtMs, expiresAtMs }: ManagedKey, nowMs: number): KeyStatus {
  if (deactivatedAtMs !== null) return "deactivated";
  return expiresAtMs !== null && nowMs >= expiresAtMs ? "expired" : "active";
}

/** The old secrets of a key that still work. */
export function workingOldSecrets(
  { oldSecrets }: Pick<ManagedKey, "oldSecrets">,
  nowMs: number,
): readonly OldSecret[] {
  return oldSecrets.filter(({ untilMs }) => nowMs < untilMs);
}

/** Whether the secret with this hash, which must be one of the key's, is accepted. */
export function isAccepted(key: ManagedKey, hash: string, nowMs: number): boolean {
  const expiresAtMs = expiryOf(key, hash);
  return key.deactivatedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs);
}

/** When the secret with this hash, one of the key's, stops being accepted; null: never. */
export function expiryOf({ expiresAtMs, oldSecrets }: ManagedKey, hash: string): number | null {
  const untilMs = oldSecrets.find((old) => old.hash === hash)?.untilMs ?? null;
  if (untilMs === null || expiresAtMs === null) return untilMs ?? expiresAtMs;
  return Math.min(untilMs, expiresAtMs);
}
