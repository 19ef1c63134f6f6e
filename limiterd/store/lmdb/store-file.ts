/**
 * The store's file and those beside it: how a new store gets to its place as a complete file, and
 * what is removed that a killed process has left. What is in the file is LMDB's.
 */
import {
  existsSync,
  fstatSync,
  linkSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../../shared/make-directory.js";
import { noDirectoryReason } from "../../../shared/text/system-reason.js";
import { StoreUnreadableError } from "../store.js";
import { plainReason, probeDisk } from "./probe-disk.js";

/** What a trial writes beside values: pages on their way. */
export const trialBytes = 64 * 1024;

/**
 * Files of a process that was killed within a first start, a trial, a backup or a restore; a trial
 * may seem as large as the store.
 */
const unfinished =
  /^limiterd\.(?:mdb\.\d+\.(?:new(?:-lock)?|trial|backup|restored(?:-lock)?)|mdb\.mark\.new|lock\.\d+\.\w+(?:\.old)?)$/;

/**
 * The store's file in `dataDir`, a directory that is created if it isn't there. Rejects with
 * `StoreUnreadableError` when it can't be, or the disk has no room to open a store.
 */
export async function prepareStoreFile(dataDir: string): Promise<string> {
  const file = join(dataDir, "limiterd.mdb");
  makeStoreDirectory(dataDir);
  // LMDB maps its lock file too: when that doesn't exist yet, a disk without room for it would end
  // the process without a word.
  if (!existsSync(`${file}-lock`)) await requireRoom(dataDir, file);
  return file;
}

/**
 * Makes the directory unless it is there; the first of those that were made, if any. Throws
 * `StoreUnreadableError`.
 */
export function makeStoreDirectory(dataDir: string): string | undefined {
  try {
    return makeDirectory(dataDir, 0o700);
  } catch (error) {
    const reason = noDirectoryReason(error, plainReason);
    throw new StoreUnreadableError(
      `the data directory ${dataDir} (limiter.data_dir) can't be made: ${reason}`,
      {
        cause: error,
      },
    );
  }
}

async function requireRoom(dataDir: string, file: string): Promise<void> {
  const cause = await diskFault(file);
  if (cause !== null)
    throw new StoreUnreadableError(`${dataDir} can't be written: ${plainReason(cause)}`, { cause });
}

/** Why the disk takes nothing beside the file; null: it does. */
export async function diskFault(file: string): Promise<unknown> {
  try {
    await probeDisk(trialFile(file), { at: fileBytes(file) ?? 0, bytes: trialBytes });
    return null;
  } catch (error) {
    return error;
  }
}

/**
 * Lets `make` create an empty store beside its place and puts it there complete, so that a file
 * which is empty or short is always a damaged one, wherever a first start was interrupted.
 */
export async function placeStoreFile(
  file: string,
  make: (fresh: string) => Promise<void>,
): Promise<void> {
  const fresh = `${file}.${process.pid}.new`;
  // What an earlier process with this number left.
  for (const end of ["", "-lock"]) rmSync(`${fresh}${end}`, { force: true });
  await make(fresh);
  // Never over a store that another daemon has created meanwhile.
  try {
    linkSync(fresh, file);
  } catch {
    // A file system without links; there, two first starts at the very same moment may
    // overwrite each other.
    if (!existsSync(file)) renameSync(fresh, file);
  }
}

/**
 * Removes what first starts and trials have left. Those of a second daemon too that starts at this
 * moment: it finds that there is a store now.
 */
export function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (unfinished.test(name)) rmSync(join(dataDir, name), { force: true });
}

/** Where a trial of the disk writes, beside the store. */
export function trialFile(file: string): string {
  return `${file}.${process.pid}.trial`;
}

/** The inode of the file, and its device's; null when it isn't there. */
export function inodeOf(file: string): string | null {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev} ${stat.ino}`;
}

/** Bytes of the file; null when it isn't there. */
export function fileBytes(file: string): number | null {
  try {
    return statSync(file).size;
  } catch {
    // It was removed while the daemon runs, which continues with the file that it has open.
    return null;
  }
}

/** Why an open file can't be a store, by its head; null: it may be one. */
export function flawOfOpenFile(descriptor: number): string | null {
  const head = Buffer.alloc(smallestPageBytes);
  const stat = fstatSync(descriptor);
  if (!stat.isFile()) return "it is not a regular file";
  readSync(descriptor, head, { position: 0 });
  // A store is put in its place complete, so none is ever empty because it is new.
  if (stat.size === 0) return "it is empty: its content is lost";
  const pageBytes = readPageBytes(head);
  if (pageBytes === null) return "it is not a Sluice store";
  return stat.size < 2 * pageBytes ? "it was cut short" : null;
}

const smallestPageBytes = 4096;
export const lmdbMagic = 0xbeefc0de;
/**
 * Where a meta page keeps its magic number: behind the page header, whose length depends on LMDB's
 * build.
 */
const magicOffsets = [16, 24];
const noPage = 2n ** 64n - 1n;

/** From LMDB's MDB_meta; null when it isn't one. */
function readPageBytes(head: Buffer): number | null {
  const meta = magicOffsets.find((at) => head.readUInt32LE(at) === lmdbMagic);
  if (meta === undefined) return null;
  const lastPage = head.readBigUInt64LE(meta + 120);
  const roots = [head.readBigUInt64LE(meta + 64), head.readBigUInt64LE(meta + 112)];
  const pageBytes = head.readUInt32LE(meta + 24);
  return pageBytes < smallestPageBytes ||
    pageBytes > 65_536 ||
    roots.some((root) => root > lastPage && root !== noPage)
    ? null
    : pageBytes;
}
