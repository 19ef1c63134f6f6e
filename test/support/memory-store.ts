/**
 * The store port on plain maps, for tests of the steps: what was committed survives, what wasn't is
 * lost.
 */
import type { Change, Entry, Store, Table } from "../../limiterd/store/store.js";

export interface MemoryStore extends Store {
  /** Fails every commit while true. */
  broken: boolean;
  /** So many commits are still made; those after it never end, and nothing of them is there. */
  commitsLeft: number;
  /** What is on the disk now, as a store of its own: a crash at this moment. */
  crash(): MemoryStore;
}

/** Where the first entry from a key on stands. */
function placeOf(entries: readonly Entry[], key: string | number): number {
  let from = 0;
  for (let to = entries.length; from < to; ) {
    const middle = (from + to) >> 1;
    if (entries[middle]!.key < key) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function createMemoryStore(
  from: ReadonlyMap<Table, ReadonlyMap<string | number, readonly unknown[]>> = new Map(),
): MemoryStore {
  const tables = new Map<Table, Map<string | number, readonly unknown[]>>();
  for (const [name, entries] of from) tables.set(name, new Map(entries));
  const table = (name: Table): Map<string | number, readonly unknown[]> => {
    const known = tables.get(name) ?? new Map<string | number, readonly unknown[]>();
    tables.set(name, known);
    return known;
  };
  let inOrder = new Map<Table, readonly Entry[]>();
  const sorted = (name: Table): readonly Entry[] => {
    const known =
      inOrder.get(name) ??
      [...table(name)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => ({ key, value }));
    inOrder.set(name, known);
    return known;
  };
  return {
    broken: false,
    commitsLeft: Infinity,
    file: "memory",
    entries: sorted,
    get: (name, key) => table(name).get(key),
    range(name, { from, before, limit }) {
      const all = sorted(name);
      const first = placeOf(all, from);
      return all.slice(first, Math.min(first + limit, placeOf(all, before)));
    },
    keys(name, range) {
      return this.range(name, range).map(({ key }) => key);
    },
    commit(changes: readonly Change[]) {
      if (this.broken) return Promise.reject(new Error("the disk is broken"));
      if (this.commitsLeft-- <= 0) return new Promise(() => {});
      inOrder = new Map();
      for (const { table: name, key, value } of changes) {
        if (value === undefined) table(name).delete(key);
        else table(name).set(key, structuredClone(value));
      }
      return Promise.resolve();
    },
    isInPlace: () => true,
    sizeBytes: () => 0,
    close: () => Promise.resolve(),
    crash: () => createMemoryStore(tables),
  };
}
