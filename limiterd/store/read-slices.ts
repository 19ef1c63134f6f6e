/** Reads a table that is too large for one turn of the event loop. */
import type { Entry, Store, Table } from "./store.js";

interface Slices {
  /** The first key to read; the table's first one, if it isn't said. */
  readonly from?: string;
  /** Entries of one turn. */
  readonly perSlice: number;
  /** Resolved in a later turn: whether to go on. */
  next(): Promise<boolean>;
}

/** Above every key: they begin with the name of a scope. */
const lastKey = "\u{10ffff}";

/**
 * Hands out the entries of a table whose keys are texts, in key order, each as it is when its slice
 * is read; of what is added meanwhile, what comes behind. Resolved: whether that were all. Rejects
 * with `StoreUnreadableError`.
 */
export async function readSlices(
  store: Store,
  table: Table,
  { from: first = "", perSlice, next }: Slices,
  take: (entry: Entry) => void,
): Promise<boolean> {
  for (let from = first; ; ) {
    if (!(await next())) return false;
    const slice = store.range(table, { from, before: lastKey, limit: perSlice });
    for (const entry of slice) take(entry);
    if (slice.length < perSlice) return true;
    from = `${slice.at(-1)!.key}\0`;
  }
}
