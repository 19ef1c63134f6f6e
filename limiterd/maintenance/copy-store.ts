/**
 * Copies a store that a daemon has open, as of one commit: LMDB's own copy. It neither waits for
 * the daemon's commits nor holds them up; the daemon holds the pages that it reads.
 *
 * The file is opened by a name of its own, so with a lock file of its own. LMDB writes the number
 * of the latest commit, as it has just read it from the file, into the lock file of whatever it
 * opens: in the daemon's lock file, that takes back a commit made in between, and the next one is
 * written over its pages.
 */
import { rmSync, statSync, symlinkSync } from "node:fs";
import { resolve } from "node:path";
import { DamagedStoreError, requireStoreFile } from "../store/lmdb/check-store-file.js";
import { openRoot, type Root } from "../store/lmdb/lmdb-file.js";
import { damageReason, plainReason } from "../store/lmdb/probe-disk.js";
import { StoreUnreadableError } from "../store/store.js";

/** LMDB's word for free pages that don't add up: it can copy them then, but not leave them out. */
const notCompactable = /MDB_INCOMPATIBLE/;

/** Resolved with the copy's bytes. Rejects with `StoreUnreadableError`; then there is no copy. */
export async function copyStore(file: string, to: string): Promise<{ readonly bytes: number }> {
  process.umask(0o077);
  requireStoreFile(file);
  const root = openApart(file, `${to}.name`);
  try {
    await root.backup(to, true).catch((error: unknown) => {
      if (!notCompactable.test(String(error))) throw error;
      rmSync(to);
      return root.backup(to, false);
    });
    return { bytes: statSync(to).size };
  } catch (error) {
    rmSync(to, { force: true });
    const damage = damageReason(error);
    throw damage === null
      ? new StoreUnreadableError(plainReason(error), { cause: error })
      : new DamagedStoreError(file, damage);
  } finally {
    await root.close();
  }
}

/** `name`: of a link beside the file, that is gone once it is open. */
function openApart(file: string, name: string): Root {
  const remove = (): void => {
    for (const made of [name, `${name}-lock`]) rmSync(made, { force: true });
  };
  remove();
  symlinkSync(resolve(file), name);
  try {
    return openRoot(name, { readOnly: true });
  } finally {
    remove();
  }
}
