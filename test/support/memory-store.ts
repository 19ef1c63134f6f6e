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

/** Where the first key from this one on stands. */
function placeOf(keys: readonly (string | number)[], key: string | number): number {
  let from = 0;
  for (let to = keys.length; from < to; ) {
    const middle = (from + to) >> 1;
    if (keys[middle]! < key) from = middle + 1;
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
  // The keys of a table in order: made when somebody asks, forgotten when one comes or goes.
  const inOrder = new Map<Table, readonly (string | number)[]>();
  const sortedKeys = (name: Table): readonly (string | number)[] => {
    const known = inOrder.get(name) ?? [...table(name).keys()].sort((a, b) => (a < b ? -1 : 1));
    inOrder.set(name, known);
    return known;
  };
  const entryAt =
    (name: Table) =>
    (key: string | number): Entry => ({ key, value: table(name).get(key)! });
  return {
    broken: false,
    commitsLeft: Infinity,
    file: "memory",
    entries: (name) => sortedKeys(name).map(entryAt(name)),
    get: (name, key) => table(name).get(key),
    range(name, range) {
      return this.keys(name, range).map(entryAt(name));
    },
    lastKeys(name, range) {
      const all = this.keys(name, { ...range, limit: Number.POSITIVE_INFINITY });
      return all.toReversed().slice(0, range.limit);
    },
    keys(name, { from, before, limit }) {
      const all = sortedKeys(name);
      const first = placeOf(all, from);
      return all.slice(first, Math.min(first + limit, placeOf(all, before)));
    },
    commit(changes: readonly Change[]) {
      if (this.broken) return Promise.reject(new Error("the disk is broken"));
      if (this.commitsLeft-- <= 0) return new Promise(() => {});
      for (const { table: name, key, value } of changes) {
        const entries = table(name);
        if (entries.has(key) !== (value !== undefined)) inOrder.delete(name);
        if (value === undefined) entries.delete(key);
        else entries.set(key, structuredClone(value));
      }
      return Promise.resolve();
    },
    isInPlace: () => true,
    sizeBytes: () => 0,
    usedBytes: () => 0,
    holdPages: () => () => {},
    close: () => Promise.resolve(),
    crash: () => createMemoryStore(tables),
  };
}
