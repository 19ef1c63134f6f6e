/**
 * Migrates a store of an earlier release to this release's schema before anything else reads it. A
 * copy of the earlier file is kept beside it. Each migration is one transaction, so a killed
 * process leaves the schema of the last complete one.
 */
import { renameSync, rmSync } from "node:fs";
import type { Migration } from "../migrations.js";
import { StoreUnreadableError } from "../store.js";
import { sealChange } from "./entry-bytes.js";
import { type Meta, openTables, type Root, storedSchema } from "./lmdb-file.js";
import { LmdbStore } from "./lmdb-store.js";
import { plainReason } from "./probe-disk.js";

/**
 * Rejects with `StoreUnreadableError` if there is no room for the copy; then nothing is changed.
 */
export async function migrateStore(
  file: string,
  { root, meta }: { readonly root: Root; readonly meta: Meta },
  needed: readonly Migration[],
): Promise<void> {
  const last = needed.at(-1);
  if (last === undefined) return;
  await keepCopy(file, root, storedSchema(file, meta));
  const tables = openTables(file, root, { make: true });
  const store = new LmdbStore(file, { root, meta, lock: null, isOwned: true, tables });
  for (const { to, changes } of needed) {
    const list = Array.from(changes(store), (change) => ({
      db: tables.get(change.table)!,
      ...sealChange(change),
    }));
    root.transactionSync(() => {
      for (const { db, keyBytes, value } of list)
        if (value === undefined) db.removeSync(keyBytes);
        else db.putSync(keyBytes, value);
      meta.putSync("schema", Buffer.from(String(to)));
    });
    await root.flushed;
  }
}

/**
 * Keeps a copy of the file before the migration, named by its schema. It replaces an existing copy,
 * which is from an interrupted start or from before an upgrade that was undone, and lacks later
 * changes.
 */
async function keepCopy(file: string, root: Root, schema: number): Promise<void> {
  const kept = `${file}.schema-${schema}`;
  const unfinished = `${file}.${process.pid}.backup`;
  rmSync(unfinished, { force: true });
  const mask = process.umask(0o077);
  try {
    await root.backup(unfinished, false);
    renameSync(unfinished, kept);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw new StoreUnreadableError(
      `${file} is of an earlier release, and the copy that is made before it is converted can't be written: ${plainReason(error)}. Nothing was changed`,
      { cause: error },
    );
  } finally {
    process.umask(mask);
  }
}
