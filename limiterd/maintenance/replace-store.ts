/**
 * Replaces a store by a backup: first makes a copy beside the store, which is verified and prepared
 * there, so that exactly what was verified takes the store's place; then renames it. The replaced
 * store is kept under another name.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { plainReason } from "../store/lmdb/probe-disk.js";
import { flawOfOpenFile, makeStoreDirectory } from "../store/lmdb/store-file.js";
import { StoreUnreadableError } from "../store/store.js";
import { openAsOwner } from "./as-owner.js";
import { runStoreProcess } from "./run-store-process.js";

export interface Backup {
  readonly descriptor: number;
  close(): void;
}

export interface StagedStore {
  /** The copy's file, for its verification. */
  readonly file: string;
  /**
   * Puts the copy in place; returns the new name of the replaced store, or null if there was none.
   */
  place(nowMs: number): Promise<string | null>;
  /** Removes the copy. */
  discard(): void;
}

const pieceBytes = 1024 * 1024;

/**
 * Creates the data directory on a machine that has never had a store. Returns a function that
 * removes the created directories if they are empty.
 */
export function makeDataDirectory(dataDir: string): () => void {
  const first = makeStoreDirectory(dataDir);
  return () => {
    if (first === undefined) return;
    const above = dirname(resolve(first));
    try {
      for (let folder = resolve(dataDir); folder !== above; folder = dirname(folder))
        rmdirSync(folder);
    } catch {
      // The directory isn't empty; it may have the restored store.
    }
  };
}

/** Throws `StoreUnreadableError` for a file that can't be read, or isn't a store. */
export function openBackup(file: string): Backup {
  let descriptor: number | null = null;
  try {
    const opened = openAsOwner(file);
    descriptor = opened;
    const flaw = flawOfOpenFile(opened);
    if (flaw === null) return { descriptor: opened, close: () => closeSync(opened) };
    throw new Error(flaw);
  } catch (error) {
    if (descriptor !== null) closeSync(descriptor);
    throw new StoreUnreadableError(`${file} can't be read: ${plainReason(error)}`);
  }
}

/** Copies a backup beside the store that it will replace. Throws the operating system's errors. */
export function stageStore(backup: Backup, storeFile: string): StagedStore {
  const staged = `${storeFile}.${process.pid}.restored`;
  const discard = (): void => {
    for (const end of ["", "-lock"]) rmSync(`${staged}${end}`, { force: true });
  };
  discard();
  try {
    copyToNew(backup.descriptor, staged);
  } catch (error) {
    discard();
    throw error;
  }
  return {
    file: staged,
    discard,
    async place(nowMs) {
      const replaced = existsSync(storeFile);
      await runStoreProcess(["adopt", staged, replaced ? storeFile : ""]).done;
      const replacedFile = replaced ? keepStore(storeFile, nowMs) : null;
      // The lock file of the replaced store; LMDB creates a new one.
      rmSync(`${storeFile}-lock`, { force: true });
      renameSync(staged, storeFile);
      discard();
      sync(dirname(storeFile));
      return replacedFile;
    },
  };
}

/** Gives the store a second name, which it keeps when the rename takes the first one. */
function keepStore(storeFile: string, nowMs: number): string {
  const time = new Date(nowMs)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replaceAll(":", "-");
  for (let n = 1; ; n++) {
    const path = `${storeFile}.before-restore-${time}${n === 1 ? "" : `-${n}`}`;
    if (existsSync(path)) continue;
    try {
      linkSync(storeFile, path);
    } catch {
      // A file system without links.
      renameSync(storeFile, path);
    }
    return path;
  }
}

/** Copies into a new file, so that nothing is written to an existing one, such as a link. */
function copyToNew(source: number, to: string): void {
  const newFd = openSync(to, "wx", 0o600);
  try {
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (let length = -1, at = 0; length !== 0; at += length) {
      length = readSync(source, piece, { position: at });
      // A disk that is nearly full may accept only a part.
      for (let written = 0; written < length; )
        written += writeSync(newFd, piece, written, length - written);
    }
    fsyncSync(newFd);
  } finally {
    closeSync(newFd);
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
