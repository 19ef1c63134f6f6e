/**
 * The managed keys in memory: found by their hash for each request, by their number otherwise. They
 * are never removed, so that a key's id always identifies its key, and a gateway that had a key
 * never opens again by itself. Of a deleted key a tombstone stays: its number, and its labels, to
 * which requests in flight are still charged.
 */

import { keyUseWrittenMs } from "../../shared/domain/credential-bounds.js";
import { type KeyDefinition, type KeyStatus, keyId } from "../../shared/domain/managed-key.js";
import { UntoldUses } from "./untold-uses.js";

export interface ManagedKey extends Omit<KeyDefinition, "models"> {
  readonly number: number;
  /** `key_7`. */
  readonly id: string;
  /** SHA-256 of the key, in base64url. */
  readonly hash: string;
  readonly redacted: string;
  readonly models: KeyDefinition["models"];
  /** Its secrets from before it was rotated, newest first; some may have ended. */
  readonly oldSecrets: readonly OldSecret[];
  readonly createdAtMs: number;
  /** Null as long as it isn't deactivated. */
  readonly deactivatedAtMs: number | null;
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

/** What a key is made of. */
export type KeyFields = Omit<ManagedKey, "id" | "writtenUseMs">;

/** What another host has seen of one key, and of its old secrets by their hashes. */
interface HeardUses extends Pick<ManagedKey, "number" | "lastUsedAtMs"> {
  readonly oldSecrets: ReadonlyMap<string, number>;
}

export class KeyRing {
  readonly #byHash = new Map<string, ManagedKey>();
  /** By ascending number. */
  readonly #ordered: ManagedKey[] = [];
  /** The keys whose last use is to be written. */
  readonly #used = new Set<ManagedKey>();
  readonly untold = new UntoldUses<ManagedKey>();
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

  /** All of them, deleted ones included. */
  all(): readonly ManagedKey[] {
    return this.#ordered;
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

  /** Adds a key whose number is above all others. */
  add(fields: KeyFields): ManagedKey {
    const key = newManagedKey(fields);
    this.#ordered.push(key);
    this.#note(key);
    return key;
  }

  #note(key: ManagedKey): void {
    if (key.deletedAtMs === null) this.#byHash.set(key.hash, key);
    else this.#deleted++;
    for (const old of key.oldSecrets) this.#byHash.set(old.hash, key);
  }

  /**
   * Puts a key, or its tombstone, in the place of the one with its number, or beside the others.
   * What is known of its uses stays known.
   */
  put(fields: KeyFields): ManagedKey {
    const at = this.#indexOf(fields.number);
    const known = this.#ordered[at];
    const key = newManagedKey(fields);
    if (known?.number !== key.number) this.#ordered.splice(at, 0, key);
    else {
      for (const { hash } of [known, ...known.oldSecrets]) this.#byHash.delete(hash);
      this.#used.delete(known);
      if (known.deletedAtMs !== null) this.#deleted--;
      if (key.deletedAtMs === null) keepUses(key, known);
      this.#ordered[at] = key;
      this.untold.replace(known, key);
    }
    this.#note(key);
    return key;
  }

  /** A request calls with the secret of this hash. */
  use(key: ManagedKey, hash: string, nowMs: number): void {
    key.lastUsedAtMs = nowMs;
    const old = key.hash === hash ? undefined : key.oldSecrets.find((one) => one.hash === hash);
    if (old !== undefined) old.lastUsedAtMs = nowMs;
    this.untold.add(key);
    this.#noteUse(key);
  }

  #noteUse(key: ManagedKey): void {
    const { lastUsedAtMs, writtenUseMs } = key;
    if (writtenUseMs === null || Math.abs(lastUsedAtMs! - writtenUseMs) >= keyUseWrittenMs)
      this.#used.add(key);
  }

  /** From now on other hosts are told of uses, and of all that are known first. */
  tellAllUses(): void {
    this.untold.begin(this.#ordered);
  }

  /** Other hosts have seen keys and old secrets be used. */
  hearUses(heard: readonly HeardUses[]): void {
    for (const { number, lastUsedAtMs, oldSecrets } of heard) {
      const key = this.byNumber(number);
      if (key === undefined || key.deletedAtMs !== null || lastUsedAtMs === null) continue;
      key.lastUsedAtMs = newest(key.lastUsedAtMs, lastUsedAtMs);
      for (const old of key.oldSecrets)
        old.lastUsedAtMs = newest(old.lastUsedAtMs, oldSecrets.get(old.hash) ?? null);
      this.#noteUse(key);
    }
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

function newManagedKey(fields: KeyFields): ManagedKey {
  // Field by field: it is read with each of its requests (docs/decisions/field-copies.md).
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
    createdAtMs: fields.createdAtMs,
    expiresAtMs: fields.expiresAtMs,
    deactivatedAtMs: fields.deactivatedAtMs,
    deletedAtMs: fields.deletedAtMs,
    lastUsedAtMs: fields.lastUsedAtMs,
    writtenUseMs: fields.lastUsedAtMs,
  };
}

/** The newest uses of a key and of its old secrets, by what it was and what it is. */
function keepUses(key: ManagedKey, known: ManagedKey): void {
  key.lastUsedAtMs = newest(key.lastUsedAtMs, known.lastUsedAtMs);
  // It is written by whoever puts it.
  key.writtenUseMs = key.lastUsedAtMs;
  for (const old of key.oldSecrets) {
    const before = [known, ...known.oldSecrets].find(({ hash }) => hash === old.hash);
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
