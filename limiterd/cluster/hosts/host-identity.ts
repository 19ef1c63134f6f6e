/**
 * Who this host is among the others: a random id, and how often its daemon was started under it.
 * In the table `cluster`, [id, start], under `host`.
 */
import { isCount } from "../../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";

export interface HostIdentity {
  readonly id: string;
  /** Of two daemons with one id the later start has the higher one. */
  readonly start: number;
}

const identityKey = "host";

/** For a daemon that starts now; to be committed before the first word to others. */
export function nextIdentity(store: Store, newId: () => string): HostIdentity {
  const value = store.get("cluster", identityKey);
  if (value === undefined) return freshIdentity(newId);
  const [id, start] = value;
  if (typeof id !== "string" || !isCount(start, 1)) throwMalformed(store, "cluster", identityKey);
  return { id, start: start + 1 };
}

/** For a host whose id another one has, too. */
export function freshIdentity(newId: () => string): HostIdentity {
  return { id: newId(), start: 1 };
}

export function identityChange({ id, start }: HostIdentity): Change {
  return { table: "cluster", key: identityKey, value: [id, start] };
}

/**
 * What is committed when a backup takes the place of a store: its number of starts is one of the
 * past, under which the engine would take the daemon for a dead one. Seconds since the epoch are
 * above all that were given out since: a daemon doesn't start once a second for long.
 */
export function identityAfterRestore(store: Store, nowMs: number): readonly Change[] {
  if (store.get("cluster", identityKey) === undefined) return [];
  const { id, start } = nextIdentity(store, () => "");
  return [identityChange({ id, start: Math.max(start, Math.floor(nowMs / 1000)) })];
}
