/**
 * Opens the store in a data directory: creates one if there is none, and locks it for this process.
 * Not here: the store itself (`lmdb-store.ts`), and its file and those beside it (`store-file.ts`).
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type Migration, neededMigrations, schemaAfter, storeMigrations } from "../migrations.js";
import { type Store, StoreLockedError, StoreUnreadableError, type Table } from "../store.js";
import { checkInProcess } from "./check-in-process.js";
import { checkWholeStore, DamagedStoreError, damagedError } from "./check-store-file.js";
import {
  type Meta,
  openMeta,
  openRoot,
  openTables,
  storedSchema,
  tableSize,
  unreadable,
} from "./lmdb-file.js";
import { LmdbStore } from "./lmdb-store.js";
import { migrateStore } from "./migrate-store.js";
import { isIoError } from "./probe-disk.js";
import {
  diskFault,
  fileBytes,
  placeStoreFile,
  prepareStoreFile,
  removeUnfinished,
} from "./store-file.js";
import { lockDirectory, type StoreLock } from "./store-lock.js";
import { isAsLeft, markInUse, requireKeys, requireStoreOrNone } from "./store-mark.js";
import { isOtherOwnerAlive, ownerMark, ownerPid } from "./store-owner.js";

/**
 * Opens the store in `dataDir`, a directory that is created if it is missing. Rejects with
 * `StoreLockedError` or `StoreUnreadableError`.
 */
export async function openLmdbStore(
  dataDir: string,
  migrations: readonly Migration[] = storeMigrations,
): Promise<Store> {
  const file = await prepareStoreFile(dataDir);
  const lock = await lockDirectory(dataDir);
  try {
    requireStoreOrNone(file);
    if (!existsSync(file)) await makeStore(file);
    else if (isAsLeft(file)) checkUnchangedFile(file);
    else await checkInProcess(file);
    return await takeStore(file, lock, migrations);
  } catch (error) {
    lock?.release();
    throw error instanceof DamagedStoreError ? damagedError(file, error.flaw) : error;
  }
}

/** A file of at most this size is read completely at each start, in a few tenths of a second. */
const alwaysReadBytes = 64 * 1024 * 1024;

/**
 * Tables that grow with use. A start doesn't read their entries in a larger file that is unchanged
 * since its last owner; they are checked when they are read.
 */
const growing: ReadonlySet<Table> = new Set<Table>([
  "windows",
  "objects",
  "usage",
  "days",
  "rollups",
  "spends",
]);

/**
 * Checks a file that is unchanged since its last owner: a disk may damage it between two starts.
 */
function checkUnchangedFile(file: string): void {
  const skipped = (fileBytes(file) ?? 0) > alwaysReadBytes ? { skipped: growing } : {};
  checkWholeStore(file, skipped);
}

async function takeStore(
  file: string,
  lock: StoreLock | null,
  migrations: readonly Migration[],
): Promise<Store> {
  const root = openRoot(file);
  try {
    const meta = openMeta(file, root);
    const needed = neededMigrations(file, storedSchema(file, meta), migrations);
    const tables = openTables(file, root, { make: needed.length > 0 });
    const hasKeys = tableSize(tables.get("keys")!).entries > 0;
    requireKeys(file, hasKeys);
    // One transaction: of two daemons that start together, the second sees the first.
    const isOwned = await writeOwner(file, lock, () =>
      root.transactionSync(() => claim(file, meta)),
    );
    removeUnfinished(dirname(file));
    await migrateStore(file, { root, meta }, needed);
    markInUse(file, hasKeys);
    return new LmdbStore(file, { root, meta, lock, isOwned, tables });
  } catch (error) {
    await root.close();
    throw error instanceof StoreUnreadableError || error instanceof StoreLockedError
      ? error
      : unreadable(file, error);
  }
}

/**
 * Runs `claim` and returns whether it wrote the owner's mark. If the disk can't be written, the
 * lock alone protects the store, and the first successful commit writes the mark. Without a lock,
 * the mark is required.
 */
export async function writeOwner(
  file: string,
  lock: StoreLock | null,
  claim: () => void,
): Promise<boolean> {
  try {
    claim();
    return true;
  } catch (error) {
    if (error instanceof StoreUnreadableError || error instanceof StoreLockedError) throw error;
    const reason = lock === null ? null : await diskFault(file);
    if (reason === null || isIoError(reason)) throw error;
    return false;
  }
}

async function makeStore(file: string): Promise<void> {
  try {
    await placeStoreFile(file, async (fresh) => {
      const root = openRoot(fresh);
      try {
        // One transaction: each waits for the disk.
        root.transactionSync(() => {
          openTables(fresh, root, { make: true });
          const meta = openMeta(fresh, root, { make: true });
          meta.putSync("schema", Buffer.from(String(schemaAfter(storeMigrations))));
          meta.putSync("owner", Buffer.from(ownerMark()));
        });
        await root.flushed;
      } finally {
        await root.close();
      }
    });
  } catch (error) {
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  }
}

/** Throws if another process owns the store; otherwise notes this one as its owner. */
function claim(file: string, meta: Meta): void {
  const owner = meta.get("owner")?.toString();
  if (owner !== undefined && isOtherOwnerAlive(owner))
    throw new StoreLockedError(`${file} is in use by the process ${ownerPid(owner)}`);
  // A new store has its mark, and a transaction without changes doesn't wait for the disk.
  if (owner !== ownerMark()) meta.putSync("owner", Buffer.from(ownerMark()));
}
