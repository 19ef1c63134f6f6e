/**
 * The managed keys in memory: found by their hash for each request, by their number otherwise. They
 * are never removed, so that a key's id always identifies its key, and a gateway that had a key
 * never opens again by itself.
 */
import { type KeyDefinition, keyId } from "../../shared/domain/managed-key.js";

export interface ManagedKey extends KeyDefinition {
  readonly number: number;
  /** `key_7`. */
  readonly id: string;
  /** SHA-256 of the key, in base64url. */
  readonly hash: string;
  readonly redacted: string;
  readonly createdAtMs: number;
  /** Null as long as it isn't deactivated. */
  deactivatedAtMs: number | null;
}

type KeyStatus = "active" | "expired" | "deactivated";

export interface KeyRing {
  /** How many there are, whatever their status. */
  readonly size: number;
  /** The number that the next key gets. */
  readonly nextNumber: number;
  /**
   * The key with this hash, whatever its status: one look into a map, whose time reveals nothing
   * about a key to a caller that doesn't have all of it.
   */
  find(hash: string): ManagedKey | undefined;
  byNumber(number: number): ManagedKey | undefined;
  /** Up to `count` keys below this number, newest first. */
  newest(below: number, count: number): readonly ManagedKey[];
  add(key: Omit<ManagedKey, "id">): ManagedKey;
}

export function createKeyRing(): KeyRing {
  const byHash = new Map<string, ManagedKey>();
  // By ascending number.
  const ordered: ManagedKey[] = [];

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
    get nextNumber() {
      return (ordered.at(-1)?.number ?? 0) + 1;
    },
    find: (hash) => byHash.get(hash),
    byNumber(number) {
      const key = ordered[indexOf(number)];
      return key?.number === number ? key : undefined;
    },
    newest(below, count) {
      const end = indexOf(below);
      return ordered.slice(Math.max(0, end - count), end).reverse();
    },
    add({
      number,
      hash,
      redacted,
      name,
      userPath,
      labels,
      createdAtMs,
      expiresAtMs,
      deactivatedAtMs,
    }) {
      const key: ManagedKey = {
        number,
        id: keyId(number),
        hash,
        redacted,
        name,
        userPath,
        labels,
        createdAtMs,
        expiresAtMs,
        deactivatedAtMs,
      };
      byHash.set(hash, key);
      ordered.push(key);
      return key;
    },
  };
}

/** The status of a key at this moment of the daemon's clock. */
export function keyStatus({ deactivatedAtMs, expiresAtMs }: ManagedKey, nowMs: number): KeyStatus {
  if (deactivatedAtMs !== null) return "deactivated";
  return expiresAtMs !== null && nowMs >= expiresAtMs ? "expired" : "active";
}
