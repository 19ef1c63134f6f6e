/**
 * Prepares a copy of a store to replace another: removes its owner, and makes its epochs continue
 * above every number that either store has assigned. A daemon that starts with the copy then counts
 * requests again that were admitted after the backup and are still in flight.
 */
import { randomUUID } from "node:crypto";
import { identityAfterRestore } from "../cluster/hosts/host-identity.js";
import { restore } from "../lifecycle/restore.js";
import { epochChange, type HostUptime, lostChange } from "../store/epochs.js";
import { hostBoot } from "../store/lmdb/host-boot.js";
import { openMeta, openRoot, openTables, storedSchema } from "../store/lmdb/lmdb-file.js";
import { LmdbStore } from "../store/lmdb/lmdb-store.js";
import { refuseNewerSchema } from "../store/migrations.js";
import { type Change, type Store, StoreUnreadableError } from "../store/store.js";
import { nextStoreId } from "../usage/followers/store-ids.js";
import { storedRollupProgress } from "../usage/usage-log.js";
import { readingDirectory, readLmdbStore } from "./read-lmdb-store.js";

/** `replaced`: the store to replace, if there is one. Rejects with `StoreUnreadableError`. */
export async function adoptStore(
  file: string,
  replaced: string | null,
): Promise<{ readonly adopted: true }> {
  process.umask(0o077);
  const root = openRoot(file);
  const meta = openMeta(file, root);
  refuseNewerSchema(file, storedSchema(file, meta));
  const tables = openTables(file, root);
  const store = new LmdbStore(file, { root, meta, lock: null, isOwned: true, tables });
  const uptime = { boot: hostBoot(), upMs: Number(process.hrtime.bigint() / 1_000_000n) };
  const beforeLsn = replaced === null ? 0 : await nextLsnOf(replaced, uptime);
  await store.commit([
    ...beginsAbove(store, beforeLsn, uptime),
    nextStoreId(store, randomUUID(), lastRecordKey(store)),
    ...identityAfterRestore(store, Date.now()),
  ]);
  await meta.remove("owner");
  await root.flushed;
  await root.close();
  return { adopted: true };
}

/**
 * Adds an empty epoch that starts at `lsn` or above. For the next epoch, all numbers between the
 * last one in this store and its own are lost.
 */
export function beginsAbove(store: Store, lsn: number, uptime: HostUptime): Change[] {
  const { epochs } = restore(store, null, {
    nowMs: Date.now(),
    uptime,
  });
  const startLsn = Math.max(epochs.startLsn, lsn);
  const last = epochs.lost.at(-1)!;
  return [
    epochChange(startLsn, uptime),
    lostChange(epochs.lost.with(-1, { ...last, beforeLsn: startLsn })),
  ];
}

/** The highest key of a batch of records; 0 if there is none. */
function lastRecordKey(store: Store): number {
  const range = { from: 0, before: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [last = 0] = store.lastKeys("usage", range);
  return Math.max(Number(last), storedRollupProgress(store));
}

/** A number above all that a store's daemons have assigned; 0 if the store can't be read. */
async function nextLsnOf(file: string, uptime: HostUptime): Promise<number> {
  const reading = readingDirectory();
  try {
    const { store, close } = readLmdbStore(file, reading.directory);
    const { epochs } = restore(store, null, {
      nowMs: Date.now(),
      uptime,
    });
    await close();
    return epochs.startLsn;
  } catch (error) {
    // The store may be replaced because it is damaged.
    if (error instanceof StoreUnreadableError) return 0;
    throw error;
  } finally {
    reading.remove();
  }
}
