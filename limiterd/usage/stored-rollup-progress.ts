/**
 * How far the sums of usage in the store are complete: `marks`, [recordKey] under `rolled_up`.
 * Every sum holds the records up to this key, so that no start needs those any more.
 */
import { isCount } from "../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";

const markKey = "rolled_up";

export function rollupProgressChange(recordKey: number): Change {
  return { table: "marks", key: markKey, value: [recordKey] };
}

/** 0 before any were written. Throws `StoreUnreadableError`. */
export function storedRollupProgress(store: Store): number {
  const mark = store.get("marks", markKey);
  if (mark === undefined) return 0;
  const [recordKey] = mark;
  return isCount(recordKey) ? recordKey : throwMalformed(store, "marks", markKey);
}
