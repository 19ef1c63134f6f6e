/**
 * Who this host is among the others: a random id, and how often its daemon was started under it.
 * In the table `cluster`, [id, start, when it took this id in place of another one], under `host`;
 * the last one is missing if it never did.
 */
import { isCount } from "../../../shared/checked.js";
import { isMoment } from "../../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";

export interface HostIdentity {
  readonly id: string;
  /** Of two daemons with one id the later start has the higher one. */
  readonly start: number;
  /** When it took this id because another host had its earlier one; null: it never did. */
  readonly takenAtMs: number | null;
}

const identityKey = "host";

/** For a daemon that starts now; to be committed before the first word to others. */
export function nextIdentity(store: Store, newId: () => string): HostIdentity {
  const value = store.get("cluster", identityKey);
  if (value === undefined) return { id: newId(), start: 1, takenAtMs: null };
  const [id, start, takenAtMs] = value;
  if (typeof id !== "string" || !isCount(start, 1)) throwMalformed(store, "cluster", identityKey);
  return { id, start: start + 1, takenAtMs: isMoment(takenAtMs) ? takenAtMs : null };
}

/** For a host whose id another one has, too. */
export function freshIdentity(newId: () => string, nowMs: number): HostIdentity {
  return { id: newId(), start: 1, takenAtMs: nowMs };
}

export function identityChange({ id, start, takenAtMs }: HostIdentity): Change {
  const value = takenAtMs === null ? [id, start] : [id, start, takenAtMs];
  return { table: "cluster", key: identityKey, value };
}

/**
 * What is committed when a backup takes the place of a store: its number of starts is one of the
 * past, under which the engine would take the daemon for a dead one. Seconds since the epoch are
 * above all that were given out since: a daemon doesn't start once a second for long.
 */
export function identityAfterRestore(store: Store, nowMs: number): readonly Change[] {
  if (store.get("cluster", identityKey) === undefined) return [];
  const identity = nextIdentity(store, () => "");
  const start = Math.max(identity.start, Math.floor(nowMs / 1000));
  return [identityChange({ ...identity, start })];
}
