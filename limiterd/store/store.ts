/**
 * The port to the embedded store. The adapter for LMDB is `lmdb-store.ts`; the tests have one in
 * memory and a simulated disk. The entries of each table are declared with their subject, such as
 * `counters/window.ts`.
 */

export const tables = [
  "rules",
  "windows",
  "journal",
  "proxies",
  "unread",
  "holds",
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
  "alerts",
  "requests",
  "traffic",
  "audit",
  "reconciliations",
] as const;
export type Table = (typeof tables)[number];

/** An entry to write, or to remove if `value` is undefined. */
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
  /** Every entry of a table in key order. Throws `StoreUnreadableError` for an unreadable one. */
  entries(table: Table): Iterable<Entry>;
  /** One entry, or undefined. Throws as `entries`. */
  get(table: Table, key: string | number): readonly unknown[] | undefined;
  /**
   * Up to `limit` entries from `from` (included) to `before`, in key order, at a cost independent
   * of the table's size. Throws as `entries`.
   */
  range(table: Table, range: KeyRange): readonly Entry[];
  /** As `range`, only keys. */
  keys(table: Table, range: KeyRange): readonly (string | number)[];
  /** The last `limit` keys of a range, in descending order. */
  lastKeys(table: Table, range: KeyRange): readonly (string | number)[];
  /**
   * Writes all changes or none. Resolves when they survive the end of this process. Rejects with
   * `StoreFailingError`, after which it may be retried, or with `StoreBrokenError`.
   */
  commit(changes: readonly Change[]): Promise<void>;
  /**
   * Whether the file is still in its place, so that the next daemon will find what is committed.
   */
  isInPlace(): boolean;
  /** Bytes of the file; null if unknown. */
  sizeBytes(): number | null;
  /**
   * Bytes used by entries of one table or all: removed entries leave free room in the file. Null if
   * unknown.
   */
  usedBytes(table?: Table): number | null;
  /**
   * Keeps everything committed now from being overwritten until the returned function is called, so
   * that another process can read it.
   */
  holdPages(): () => void;
  /** Resolves when everything is on the disk and another process may open the file. */
  close(): Promise<void>;
}

/** The store contains something that this version can't read. It is not overwritten. */
export class StoreUnreadableError extends Error {
  override name = "StoreUnreadableError";
}

/** The store can't be written; waiting changes are retried. */
export class StoreFailingError extends Error {
  override name = "StoreFailingError";
}

/**
 * The disk has lost accepted data, so its content is unknown: nothing is retried and the daemon
 * exits.
 */
export class StoreBrokenError extends Error {
  override name = "StoreBrokenError";
}

/** Another running daemon owns the store. */
export class StoreLockedError extends Error {
  override name = "StoreLockedError";
}

/** Throws for a readable entry that doesn't have the form of its table. */
export function throwMalformed({ file }: Store, table: Table, key: string | number): never {
  throw new StoreUnreadableError(
    `${file} can't be read: the entry ${JSON.stringify(key)} of ${table} is not what it should be. Restore a backup that is whole`,
  );
}
