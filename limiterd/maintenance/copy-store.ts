/**
 * Copies a store that a daemon has open, as of one commit, with LMDB's own copy function. It
 * neither waits for the daemon's commits nor delays them; the daemon keeps the pages that it reads.
 *
 * It opens the file by another name, so with another lock file. When LMDB opens a file, it reads
 * the number of the latest commit and writes it into the lock file. In the daemon's lock file, that
 * would undo a commit made in between, and the next commit would overwrite its pages.
 */
import { rmSync, statSync, symlinkSync } from "node:fs";
import { resolve } from "node:path";
import { DamagedStoreError, requireStoreFile } from "../store/lmdb/check-store-file.js";
import { openRoot, type Root } from "../store/lmdb/lmdb-file.js";
import { damageReason, plainReason } from "../store/lmdb/probe-disk.js";
import { StoreUnreadableError } from "../store/store.js";

/** LMDB's error for inconsistent free pages: it must then copy them too, without compacting. */
const notCompactable = /MDB_INCOMPATIBLE/;

/** Resolves with the copy's size. Rejects with `StoreUnreadableError`; then there is no copy. */
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

/** Opens the file by the name `name`: a link beside the copy, removed once the file is open. */
function openApart(file: string, name: string): Root {
  const remove = (): void => {
    for (const path of [name, `${name}-lock`]) rmSync(path, { force: true });
  };
  remove();
  symlinkSync(resolve(file), name);
  try {
    return openRoot(name, { readOnly: true });
  } finally {
    remove();
  }
}
