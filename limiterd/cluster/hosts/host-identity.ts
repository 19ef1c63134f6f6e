/**
 * This host's identity in the cluster: a random id, and the number of its daemon's starts under it.
 * Table `cluster`, key `host`: [id, start, when it replaced an earlier id]; the last field is
 * missing if it never did.
 */
import { isCount } from "../../../shared/checked.js";
import { isMoment } from "../../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";

export interface HostIdentity {
  readonly id: string;
  /** If two daemons have the same id, the later start has the higher number. */
  readonly start: number;
  /** When it took this id because another host had the earlier one; null: never. */
  readonly takenAtMs: number | null;
}

const identityKey = "host";

/** The identity of a daemon that starts now; commit it before the first report to others. */
export function nextIdentity(store: Store, newId: () => string): HostIdentity {
  const value = store.get("cluster", identityKey);
  if (value === undefined) return { id: newId(), start: 1, takenAtMs: null };
  const [id, start, takenAtMs] = value;
  if (typeof id !== "string" || !isCount(start, 1)) throwMalformed(store, "cluster", identityKey);
  return { id, start: start + 1, takenAtMs: isMoment(takenAtMs) ? takenAtMs : null };
}

/** A new identity for a host whose id another host also has. */
export function freshIdentity(newId: () => string, nowMs: number): HostIdentity {
  return { id: newId(), start: 1, takenAtMs: nowMs };
}

export function identityChange({ id, start, takenAtMs }: HostIdentity): Change {
  const value = takenAtMs === null ? [id, start] : [id, start, takenAtMs];
  return { table: "cluster", key: identityKey, value };
}

/**
 * The identity for a store that was restored from a backup. The backup's start number is outdated,
 * so the engine would take the daemon for a superseded one. Seconds since 1970 exceed all numbers
 * assigned since, because no daemon starts once a second for long.
 */
export function identityAfterRestore(store: Store, nowMs: number): readonly Change[] {
  if (store.get("cluster", identityKey) === undefined) return [];
  const identity = nextIdentity(store, () => "");
  const start = Math.max(identity.start, Math.floor(nowMs / 1000));
  return [identityChange({ ...identity, start })];
}
