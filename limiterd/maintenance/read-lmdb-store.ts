/**
 * Opens a store's file only for reading: the file isn't changed and no other file is created beside
 * it, so its directory may belong to another user. Don't use it for a store that a daemon may have
 * open.
 */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { requireStorePages } from "../store/lmdb/check-store-file.js";
import {
  openMeta,
  openRoot,
  openTables,
  storedSchema,
  tableSize,
  unreadable,
} from "../store/lmdb/lmdb-file.js";
import { LmdbStore } from "../store/lmdb/lmdb-store.js";
import { type Store, StoreUnreadableError } from "../store/store.js";

interface ReadStore {
  readonly store: Store;
  /** The version of the formats of its entries. */
  readonly schema: number;
  /** The total number of entries. */
  readonly entries: number;
  close(): Promise<void>;
}

/** Throws `StoreUnreadableError`. `directory`: from `readingDirectory`. */
export function readLmdbStore(file: string, directory: string): ReadStore {
  requireStorePages(file);
  // LMDB creates its lock file beside the name by which it opens a file.
  const name = join(directory, "store.mdb");
  symlinkSync(resolve(file), name);
  const root = openRoot(name, { readOnly: true });
  try {
    const meta = openMeta(file, root);
    const schema = storedSchema(file, meta);
    const tables = openTables(file, root);
    let entries = 0;
    for (const table of tables.values()) entries += tableSize(table).entries;
    const store = new LmdbStore(file, { root, meta, lock: null, isOwned: true, tables });
    return { store, schema, entries, close: () => root.close() };
  } catch (error) {
    void root.close();
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  }
}

/** A directory for one `readLmdbStore`, and a function that removes it. */
export function readingDirectory(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), "sluice-reading-"));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
