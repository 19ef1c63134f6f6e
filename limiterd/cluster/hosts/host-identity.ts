/**
 * This host's identity in the cluster: a random id, and how often its daemon was started under it.
 * Table `cluster`, key `host`: [id, start, when it replaced an earlier id], without the last field
 * if it never did.
 */
import { isCount } from "../../../shared/checked.js";
import { isMoment } from "../../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";

export interface HostIdentity {
  readonly id: string;
  /** Of two daemons with the same id, the later start has the higher number. */
  readonly start: number;
  /** When it took this id because another host had the earlier one; null: never. */
  readonly takenAtMs: number | null;
}

const identityKey = "host";

/** For a daemon that starts now; commit it before the first report to others. */
export function nextIdentity(store: Store, newId: () => string): HostIdentity {
  const value = store.get("cluster", identityKey);
  if (value === undefined) return { id: newId(), start: 1, takenAtMs: null };
  const [id, start, takenAtMs] = value;
  if (typeof id !== "string" || !isCount(start, 1)) throwMalformed(store, "cluster", identityKey);
  return { id, start: start + 1, takenAtMs: isMoment(takenAtMs) ? takenAtMs : null };
}

/** For a host whose id another host has too. */
export function freshIdentity(newId: () => string, nowMs: number): HostIdentity {
  return { id: newId(), start: 1, takenAtMs: nowMs };
}

export function identityChange({ id, start, takenAtMs }: HostIdentity): Change {
  const value = takenAtMs === null ? [id, start] : [id, start, takenAtMs];
  return { table: "cluster", key: identityKey, value };
}

/**
 * For a store that a backup replaces: its start number is from the past, so the engine would take
 * the daemon for a dead one. Seconds since the epoch exceed all numbers assigned since, because a
 * daemon can't start once a second for long.
 */
export function identityAfterRestore(store: Store, nowMs: number): readonly Change[] {
  if (store.get("cluster", identityKey) === undefined) return [];
  const identity = nextIdentity(store, () => "");
  const start = Math.max(identity.start, Math.floor(nowMs / 1000));
  return [identityChange({ ...identity, start })];
}
