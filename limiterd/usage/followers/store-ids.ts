/**
 * By which id the records of a store are known elsewhere: with a record's place, it is unique over
 * all hosts. A store that a backup was put back into gives its places out again, so it has another
 * id from then on, and keeps the one that its earlier records have. Pure.
 *
 * `marks`, [id, firstKey, id, firstKey, …] under `store_ids`.
 */
import { isCount } from "../../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";

/** The id of the records from a key on, up to the next id's. */
export interface StoreId {
  readonly id: string;
  readonly firstKey: number;
}

const markKey = "store_ids";
/** More than a store is ever restored; of more, the oldest are forgotten. */
const storeIdsMax = 100;

/** Ascending; none in a store that never had one. Throws `StoreUnreadableError`. */
export function storedStoreIds(store: Store): readonly StoreId[] {
  const mark = store.get("marks", markKey);
  if (mark === undefined) return [];
  return storeIdsFromStored(mark) ?? throwMalformed(store, "marks", markKey);
}

/** Null for what was never written. */
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

/** What is committed when a copy takes the place of a store: its next records have a new id. */
export function nextStoreId(store: Store, id: string, lastKey: number): Change {
  return storeIdsChange([...storedStoreIds(store), { id, firstKey: lastKey + 1 }]);
}

/** Whose id a key has. `ids` isn't empty. */
export function storeIdAt(ids: readonly StoreId[], key: number): StoreId {
  return ids.findLast(({ firstKey }) => firstKey <= key) ?? ids[0]!;
}

/** The ids of a store at its start; `changes` give it the one that it lacks. */
export function identify(
  store: Store,
  newId: string,
): { readonly storeIds: readonly StoreId[]; readonly changes: readonly Change[] } {
  const stored = storedStoreIds(store);
  if (stored.length > 0) return { storeIds: stored, changes: [] };
  const storeIds = [{ id: newId, firstKey: 0 }];
  return { storeIds, changes: [storeIdsChange(storeIds)] };
}
