/**
 * Copies the store of a running daemon for a backup: a separate process writes the copy beside the
 * store, the only place where a daemon may write, and this process reads it there. A complete copy
 * is unlinked, so that nothing is left if a process dies.
 */
import { rmSync, statfsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { backupSpareBytes } from "../bounds.js";
import type { CopyInProgress, StoreCopy } from "../store/backups.js";
import { fileBytes } from "../store/lmdb/store-file.js";
import { type Store, StoreFailingError } from "../store/store.js";
import { runStoreProcess } from "./run-store-process.js";

/** Throws `StoreFailingError` if the disk has no room for the copy. */
export function copyInProcess(store: Pick<Store, "file" | "holdPages">): CopyInProgress {
  const { file } = store;
  const storeBytes = fileBytes(file) ?? 0;
  requireRoom(dirname(file), storeBytes);
  const to = `${file}.${process.pid}.backup`;
  rmSync(to, { force: true });
  // The process reads without the lock file, so LMDB doesn't know that it reads.
  const release = store.holdPages();
  const work = runStoreProcess(["copy", file, to]);
  return {
    storeBytes,
    copiedBytes: () => fileBytes(to) ?? 0,
    finished: work.done
      .finally(release)
      .then(() => openCopy(to))
      .catch((error: unknown) => {
        rmSync(to, { force: true });
        throw new StoreFailingError(error instanceof Error ? error.message : String(error));
      }),
    cancel: work.cancel,
  };
}

function requireRoom(directory: string, storeBytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  const needed = storeBytes + backupSpareBytes;
  if (bavail * bsize < needed)
    throw new StoreFailingError(
      `it needs ${mebibytes(needed)} MiB in ${directory} for a while, ${mebibytes(backupSpareBytes)} of which stay free, and there are ${Math.floor((bavail * bsize) / 2 ** 20)}`,
    );
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}

async function openCopy(path: string): Promise<StoreCopy> {
  const file: FileHandle = await open(path);
  rmSync(path);
  const { size } = await file.stat();
  let reading: Promise<unknown> = Promise.resolve();
  return {
    bytes: size,
    async read(from, length) {
      const piece = file.read(Buffer.allocUnsafe(length), 0, length, from);
      reading = piece;
      const { bytesRead, buffer } = await piece;
      return buffer.subarray(0, bytesRead);
    },
    close() {
      const end = (): Promise<void> => file.close();
      void reading.then(end, end);
    },
  };
}
