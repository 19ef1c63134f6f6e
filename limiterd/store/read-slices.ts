/** Reads a table that is too large for one turn of the event loop. */
import type { Entry, Store, Table } from "./store.js";

interface Slices {
  /** The first key to read; by default the table's first. */
  readonly from?: string;
  /** Entries per turn. */
  readonly perSlice: number;
  /** Resolves in a later turn with whether to continue. */
  next(): Promise<boolean>;
}

/** Above every key: they begin with the name of a scope. */
const lastKey = "\u{10ffff}";

/**
 * Passes the entries of a table with text keys to `take`, in key order, each with the value that it
 * has when its slice is read. Entries added meanwhile are included if their keys come later.
 * Resolves with whether it read the whole table. Rejects with `StoreUnreadableError`.
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
