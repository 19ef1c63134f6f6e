/**
 * The port to the embedded store: what the daemon needs of it. The adapter for LMDB is
 * `lmdb-store.ts`; the tests have one in memory and a simulated disk. What an entry of each table
 * holds is declared with its subject, such as `counters/stored-window.ts`.
 */

export const tables = [
  "rules",
  "windows",
  "journal",
  "proxies",
  "unread",
  "epochs",
  "keys",
  "denials",
  "objects",
  "usage",
  "days",
  "rollups",
  "marks",
  "budgets",
  "spends",
  "spendlog",
  "resets",
  "settings",
  "cluster",
] as const;
export type Table = (typeof tables)[number];

/** One entry to write, or with `value` undefined to remove. */
export interface Change {
  readonly table: Table;
  readonly key: string | number;
  readonly value: readonly unknown[] | undefined;
}

export interface Entry {
  readonly key: string | number;
  readonly value: readonly unknown[];
}

/** `from` included, `before` not. */
export interface KeyRange {
  readonly from: string | number;
  readonly before: string | number;
  readonly limit: number;
}

export interface Store {
  /** The file, for messages. */
  readonly file: string;
  /** Every entry of a table in key order. Throws `StoreUnreadableError` when one can't be read. */
  entries(table: Table): Iterable<Entry>;
  /** One entry, or undefined. Throws as `entries`. */
  get(table: Table, key: string | number): readonly unknown[] | undefined;
  /**
   * Up to `limit` entries from `from` on (with it) and before `before`, in key order: one short
   * look, whatever else the table holds. Throws as `entries`.
   */
  range(table: Table, range: KeyRange): readonly Entry[];
  /** As `range`, the keys alone. */
  keys(table: Table, range: KeyRange): readonly (string | number)[];
  /** The last `limit` keys of a range, in descending order. */
  lastKeys(table: Table, range: KeyRange): readonly (string | number)[];
  /**
   * Writes all changes or none. Resolved: they survive the end of this process. Rejects with
   * `StoreFailingError`, after which it may be tried again, or with `StoreBrokenError`.
   */
  commit(changes: readonly Change[]): Promise<void>;
  /** Whether what is committed can be found again by the next daemon: nobody took the file away. */
  isInPlace(): boolean;
  /** Bytes of the file; null when that isn't known. */
  sizeBytes(): number | null;
  /**
   * Bytes of it that hold entries, of one table or of all: what was removed leaves room in the
   * file. Null as above.
   */
  usedBytes(table?: Table): number | null;
  /**
   * What is committed now, and later, isn't written over until the function that is returned has
   * been called: another process may read it.
   */
  holdPages(): () => void;
  /** Resolved: everything is on the disk and the file may be opened by another process. */
  close(): Promise<void>;
}

/** The store holds something that this version can't read; nothing is written over it. */
export class StoreUnreadableError extends Error {
  override name = "StoreUnreadableError";
}

/** The store can't be written; what waits for it is tried again. */
export class StoreFailingError extends Error {
  override name = "StoreFailingError";
}

/**
 * The disk has lost something that it had taken: what is on it isn't known any more, so nothing is
 * tried again and the daemon ends.
 */
export class StoreBrokenError extends Error {
  override name = "StoreBrokenError";
}

/** Another living daemon owns the store. */
export class StoreLockedError extends Error {
  override name = "StoreLockedError";
}

/** Throws for an entry that can be read but doesn't have the form of its table. */
export function throwMalformed({ file }: Store, table: Table, key: string | number): never {
  throw new StoreUnreadableError(
    `${file} can't be read: the entry ${JSON.stringify(key)} of ${table} is not what it should be. Restore a backup that is whole`,
  );
}
