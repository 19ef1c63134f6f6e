/**
 * Whether a file is LMDB's and complete, checked before LMDB opens it. LMDB maps its file and
 * trusts it: a foreign one isn't always a clean error, and a page that is missing ends the process.
 * So the first pages are read: what they are, and how long the file must be.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { StoreUnreadableError } from "./store.js";

/**
 * Throws `StoreUnreadableError` for a file that isn't a store or isn't complete, the operating
 * system's error for one that can't be read at all.
 */
export function checkStoreFile(file: string): void {
  const head = Buffer.alloc(2 * smallestPageBytes);
  let headBytesRead: number;
  let fileBytes: number;
  const descriptor = openSync(file, "r");
  try {
    fileBytes = fstatSync(descriptor).size;
    headBytesRead = readSync(descriptor, head);
  } finally {
    closeSync(descriptor);
  }
  // A store is put in its place complete, so none is ever empty because it is new.
  if (fileBytes === 0) throw damaged(file, "it is empty: its content is lost");
  const first = readMeta(head, 0);
  if (first === null) throw damaged(file, "it is not a Sluice store");
  const second =
    first.pageBytes === smallestPageBytes && headBytesRead === head.length
      ? readMeta(head, smallestPageBytes)
      : null;
  const newest = second !== null && second.transaction > first.transaction ? second : first;
  if (
    fileBytes < 2 * first.pageBytes ||
    fileBytes < (newest.lastPage + 1 - unwrittenPagesMax) * first.pageBytes
  )
    throw damaged(file, "it was cut short");
}

function damaged(file: string, what: string): StoreUnreadableError {
  return new StoreUnreadableError(
    `${file} can't be read: ${what}. Put a whole copy in its place, or move it away to begin with a new store, without the keys, the limits and the usage that were in it`,
  );
}

const smallestPageBytes = 4096;
const lmdbMagic = 0xbeefc0de;
/**
 * Where a meta page keeps its magic number: behind the page header, whose length depends on LMDB's
 * build.
 */
const magicOffsets = [16, 24];
/** Pages at the end that a transaction took and gave back again are counted but never written. */
const unwrittenPagesMax = 16;

const noPage = 2n ** 64n - 1n;

/** LMDB's MDB_meta, as far as it is needed. */
function readMeta(
  head: Buffer,
  page: number,
): { readonly pageBytes: number; readonly lastPage: number; readonly transaction: bigint } | null {
  const offset = magicOffsets.find((at) => head.readUInt32LE(page + at) === lmdbMagic);
  if (offset === undefined) return null;
  const meta = page + offset;
  const lastPage = head.readBigUInt64LE(meta + 120);
  const roots = [head.readBigUInt64LE(meta + 64), head.readBigUInt64LE(meta + 112)];
  const pageBytes = head.readUInt32LE(meta + 24);
  if (
    pageBytes < smallestPageBytes ||
    pageBytes > 65_536 ||
    roots.some((root) => root > lastPage && root !== noPage)
  )
    return null;
  return { pageBytes, lastPage: Number(lastPage), transaction: head.readBigUInt64LE(meta + 128) };
}
