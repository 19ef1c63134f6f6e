/**
 * Copies a store that a daemon has open, as of one commit. LMDB's own copy: it reads the store as
 * any reader does, and neither waits for the daemon's commits nor holds them up.
 */
import { rmSync, statSync } from "node:fs";
import { openRoot } from "../store/lmdb/lmdb-file.js";
import { plainReason } from "../store/lmdb/probe-disk.js";
import { StoreUnreadableError } from "../store/store.js";

/** LMDB's word for free pages that don't add up: it can copy them then, but not leave them out. */
const notCompactable = /MDB_INCOMPATIBLE/;

/** Resolved with the copy's bytes. Rejects with `StoreUnreadableError`; then there is no copy. */
export async function copyStore(file: string, to: string): Promise<{ readonly bytes: number }> {
  process.umask(0o077);
  const root = openRoot(file, { readOnly: true });
  try {
    await root.backup(to, true).catch((error: unknown) => {
      if (!notCompactable.test(String(error))) throw error;
      rmSync(to);
      return root.backup(to, false);
    });
    return { bytes: statSync(to).size };
  } catch (error) {
    rmSync(to, { force: true });
    throw new StoreUnreadableError(plainReason(error), { cause: error });
  } finally {
    await root.close();
  }
}
