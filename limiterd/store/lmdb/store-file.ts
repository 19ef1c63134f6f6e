/**
 * The store's file and those beside it: puts a new store in its place as a complete file, and
 * removes what killed processes have left. Not here: the content of the file, which is LMDB's.
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

/** Bytes that a trial write has in addition to the values: LMDB rewrites whole pages. */
export const trialBytes = 64 * 1024;

/**
 * Files of a process that was killed during a first start, a trial, a backup or a restore; a
 * trial's file may appear as large as the store.
 */
const unfinished =
  /^limiterd\.(?:mdb\.\d+\.(?:new(?:-lock)?|trial|backup|restored(?:-lock)?)|mdb\.mark\.new|lock\.\d+\.\w+(?:\.old)?)$/;

/**
 * The store's file in `dataDir`, a directory that is created if it is missing. Rejects with
 * `StoreUnreadableError` if the directory can't be created or the disk has no room to open a store.
 */
export async function prepareStoreFile(dataDir: string): Promise<string> {
  const file = join(dataDir, "limiterd.mdb");
  makeStoreDirectory(dataDir);
  // LMDB also maps its lock file: if that doesn't exist yet, a full disk would end the process
  // without an error.
  if (!existsSync(`${file}-lock`)) await requireRoom(dataDir, file);
  return file;
}

/**
 * Creates the directory if it is missing. Returns the topmost directory that was created, if any.
 * Throws `StoreUnreadableError`.
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

/** File systems report a lack of room at a write or the close, so it needn't wait for the disk. */
async function requireRoom(dataDir: string, file: string): Promise<void> {
  const cause = await diskFault(file, false);
  if (cause !== null)
    throw new StoreUnreadableError(`${dataDir} can't be written: ${plainReason(cause)}`, { cause });
}

/** Why the disk of the file can't be written; null if it can. `flushes`: as for `probeDisk`. */
export async function diskFault(file: string, flushes = true): Promise<unknown> {
  try {
    await probeDisk(trialFile(file), { at: fileBytes(file) ?? 0, bytes: trialBytes, flushes });
    return null;
  } catch (error) {
    return error;
  }
}

/**
 * Lets `make` create an empty store beside its place, then moves it there complete. So an empty or
 * short file is always a damaged one, even if a first start was interrupted.
 */
export async function placeStoreFile(
  file: string,
  make: (fresh: string) => Promise<void>,
): Promise<void> {
  const fresh = `${file}.${process.pid}.new`;
  // An earlier process with the same process id may have left them.
  for (const end of ["", "-lock"]) rmSync(`${fresh}${end}`, { force: true });
  await make(fresh);
  // Never replaces a store that another daemon has created meanwhile.
  try {
    linkSync(fresh, file);
  } catch {
    // A file system without links, on which two simultaneous first starts may overwrite each other.
    if (!existsSync(file)) renameSync(fresh, file);
  }
}

/**
 * Removes what first starts and trials have left, including the files of another daemon that starts
 * at this moment: it will find this store.
 */
export function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (unfinished.test(name)) rmSync(join(dataDir, name), { force: true });
}

/** The file that a trial of the disk writes, beside the store. */
export function trialFile(file: string): string {
  return `${file}.${process.pid}.trial`;
}

/** The device and inode of the file; null if the file is missing. */
export function inodeOf(file: string): string | null {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev} ${stat.ino}`;
}

/** Bytes of the file; null if the file is missing. */
export function fileBytes(file: string): number | null {
  try {
    return statSync(file).size;
  } catch {
    // The file was removed; the daemon continues with the file that it has open.
    return null;
  }
}

/** Why an open file can't be a store, by its head; null if it may be one. */
export function flawOfOpenFile(descriptor: number): string | null {
  const head = Buffer.alloc(smallestPageBytes);
  const stat = fstatSync(descriptor);
  if (!stat.isFile()) return "it is not a regular file";
  readSync(descriptor, head, { position: 0 });
  // A new store is moved to its place complete, so it is never empty.
  if (stat.size === 0) return "it is empty: its content is lost";
  const pageBytes = readPageBytes(head);
  if (pageBytes === null) return "it is not a Sluice store";
  return stat.size < 2 * pageBytes ? "it was cut short" : null;
}

const smallestPageBytes = 4096;
export const lmdbMagic = 0xbeefc0de;
/**
 * The offsets of a meta page's magic number: after the page header, whose length depends on LMDB's
 * build.
 */
const magicOffsets = [16, 24];
const noPage = 2n ** 64n - 1n;

/** From LMDB's MDB_meta; null if it isn't one. */
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
