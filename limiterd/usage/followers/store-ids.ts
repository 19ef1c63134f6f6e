/**
 * The ids of a store, by which its records are known elsewhere: an id and a record's place are
 * unique across all hosts. A store that was restored from a backup assigns places again, so it gets
 * a new id for its later records and keeps the earlier id for its earlier records. Pure.
 *
 * `marks`, [id, firstKey, id, firstKey, …] under `store_ids`.
 */
import { isCount } from "../../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";

/** The id of the records from `firstKey` up to the `firstKey` of the next id. */
export interface StoreId {
  readonly id: string;
  readonly firstKey: number;
}

const markKey = "store_ids";
/**
 * Maximum number of ids, far more than any store is restored; beyond it, the oldest are removed.
 */
const storeIdsMax = 100;

/** The ids in ascending order; empty in a new store. Throws `StoreUnreadableError`. */
export function storedStoreIds(store: Store): readonly StoreId[] {
  const mark = store.get("marks", markKey);
  if (mark === undefined) return [];
  return storeIdsFromStored(mark) ?? throwMalformed(store, "marks", markKey);
}

/** Null for what `storeIdsChange` never wrote. */
export function storeIdsFromStored(mark: readonly unknown[]): readonly StoreId[] | null {
  const ids: StoreId[] = [];
  for (let i = 0; i < mark.length; i += 2) {
    const [id, firstKey] = mark.slice(i, i + 2);
    if (typeof id !== "string" || !isCount(firstKey)) return null;
    ids.push({ id, firstKey });
  }
  return ids.length === 0 ? null : ids;
}

function storeIdsChange(ids: readonly StoreId[]): Change {
  const value = ids.slice(-storeIdsMax).flatMap(({ id, firstKey }) => [id, firstKey]);
  return { table: "marks", key: markKey, value };
}

/** The change for a store that is restored from a backup: its next records get a new id. */
export function nextStoreId(store: Store, id: string, lastKey: number): Change {
  return storeIdsChange([...storedStoreIds(store), { id, firstKey: lastKey + 1 }]);
}

/** The id of a record key. `ids` isn't empty. */
export function storeIdAt(ids: readonly StoreId[], key: number): StoreId {
  return ids.findLast(({ firstKey }) => firstKey <= key) ?? ids[0]!;
}

/** The ids of a store at a start; `changes` give a new store its first id. */
export function identify(
  store: Store,
  newId: string,
): { readonly storeIds: readonly StoreId[]; readonly changes: readonly Change[] } {
  const stored = storedStoreIds(store);
  if (stored.length > 0) return { storeIds: stored, changes: [] };
  const storeIds = [{ id: newId, firstKey: 0 }];
  return { storeIds, changes: [storeIdsChange(storeIds)] };
}
