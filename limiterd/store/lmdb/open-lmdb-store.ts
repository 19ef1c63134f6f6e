/**
 * Opens the store in a data directory: makes one where there is none, and takes it for this
 * process. The store itself is in `lmdb-store.ts`, the file and those beside it in `store-file.ts`.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type Migration, neededMigrations, schemaAfter, storeMigrations } from "../migrations.js";
import { type Store, StoreLockedError, StoreUnreadableError, type Table } from "../store.js";
import { checkInProcess } from "./check-in-process.js";
import { checkWholeStore, DamagedStoreError, damaged } from "./check-store-file.js";
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
 * Opens the store in `dataDir`, a directory that is created if it isn't there. Rejects with
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
    else if (isAsLeft(file)) checkAsLeft(file);
    else await checkInProcess(file);
    return await takeStore(file, lock, migrations);
  } catch (error) {
    lock?.release();
    throw error instanceof DamagedStoreError ? damaged(file, error.flaw) : error;
  }
}

/** A file of at most this size is read completely at each start, in some tenths of a second. */
const alwaysReadBytes = 64 * 1024 * 1024;

/**
 * What a start doesn't read of a larger one that is as its last owner left it: tables that grow
 * with the use. Their entries are checked when they are read.
 */
const growing: ReadonlySet<Table> = new Set<Table>([
  "windows",
  "objects",
  "usage",
  "days",
  "rollups",
  "spends",
]);

/** A disk may damage a file between two starts. */
function checkAsLeft(file: string): void {
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
    // One transaction: of two daemons that start at once, the second sees the first.
    const owned = await written(file, lock, () => root.transactionSync(() => claim(file, meta)));
    removeUnfinished(dirname(file));
    await migrateStore(file, { root, meta }, needed);
    markInUse(file, hasKeys);
    return new LmdbStore(file, { root, meta, lock, owned, tables });
  } catch (error) {
    await root.close();
    throw error instanceof StoreUnreadableError || error instanceof StoreLockedError
      ? error
      : unreadable(file, error);
  }
}

/**
 * Whether the owner's mark was written. On a disk that takes nothing, the lock alone says who has
 * the store: the first commit that succeeds writes the mark. Without a lock it is the only sign.
 */
export async function written(
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
        openTables(fresh, root, { make: true });
        openMeta(fresh, root, { make: true }).putSync(
          "schema",
          Buffer.from(String(schemaAfter(storeMigrations))),
        );
        await root.flushed;
      } finally {
        await root.close();
      }
    });
  } catch (error) {
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  }
}

/** Throws when another process has the store; otherwise writes down that this one has it. */
function claim(file: string, meta: Meta): void {
  const owner = meta.get("owner")?.toString();
  if (owner !== undefined && isOtherOwnerAlive(owner))
    throw new StoreLockedError(`${file} is in use by the process ${ownerPid(owner)}`);
  meta.putSync("owner", Buffer.from(ownerMark()));
}
