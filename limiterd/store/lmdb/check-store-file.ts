/**
 * Whether a file is LMDB's, checked before LMDB opens it: a foreign one isn't always a clean error.
 * Only its head is read. Whether all of its pages are there is checked by reading them in a process
 * of its own (`check-in-process.ts`): the file's length doesn't say, because pages at the end that
 * a transaction took and gave back again are counted but never written.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { StoreUnreadableError } from "../store.js";
import { plainReason } from "./probe-disk.js";

/**
 * Throws `StoreUnreadableError` for a file that isn't a store, the operating system's error for one
 * that can't be read at all.
 */
export function checkStoreFile(file: string): void {
  const flaw = flawOfStoreFile(file);
  if (flaw !== null) throw damaged(file, flaw);
}

/** Why a file can't be a store; null: it may be one. Throws the operating system's error. */
function flawOfStoreFile(file: string): string | null {
  // A named pipe that nobody writes to would be waited for.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return flawOfOpenFile(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** As `flawOfStoreFile`, of a file that is open; it is read where it begins. */
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

/** Throws `StoreUnreadableError` for a file that can't be read, or isn't a store. */
export function requireStoreFile(file: string): void {
  const flaw = flawOf(file);
  if (flaw !== null) throw new StoreUnreadableError(`${file} can't be read: ${flaw}`);
}

function flawOf(file: string): string | null {
  try {
    return flawOfStoreFile(file);
  } catch (error) {
    return plainReason(error);
  }
}

/** What to say of a file that isn't, or is no longer, a store that can be read. */
export function damaged(file: string, what: string): StoreUnreadableError {
  return new StoreUnreadableError(
    `${file} can't be read: ${what}. Put a whole copy in its place, or, to begin with a new store without the keys, the limits and the usage that were in it, move it away and remove ${file}.mark`,
  );
}

const smallestPageBytes = 4096;
const lmdbMagic = 0xbeefc0de;
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
