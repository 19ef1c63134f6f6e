/**
 * The file of the store as LMDB opens it: its tables, and all that is in them, as bytes. What the
 * bytes mean, and how changes are committed, is in `lmdb-store.ts`.
 */
import { existsSync } from "node:fs";
import { ABORT, type Database, open, type RootDatabase } from "lmdb";
import { StoreUnreadableError, type Table, tables } from "../store.js";
import { checkStoreFile } from "./check-store-file.js";
import { plainReason } from "./probe-disk.js";

export type Bytes = Database<Buffer, Buffer>;
export type Root = RootDatabase<Buffer, string>;
/** What is known of the store itself. */
export type Meta = Database<Buffer, string>;

/** Throws `StoreUnreadableError`. `readOnly`: nothing of the file is changed, nor made. */
export function openRoot(file: string, { readOnly = false } = {}): Root {
  // LMDB creates its files by the mask: they are readable by their owner alone.
  const mask = process.umask(0o077);
  try {
    if (existsSync(file)) checkStoreFile(file);
    return open<Buffer, string>({
      path: file,
      noSubdir: true,
      encoding: "binary",
      maxDbs: 32,
      eventTurnBatching: false,
      readOnly,
    });
  } catch (error) {
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  } finally {
    process.umask(mask);
  }
}

/** Opens each table, or makes it. */
export function openTables(root: Root): ReadonlyMap<Table, Bytes> {
  return new Map(
    tables.map((name) => [
      name,
      root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" }),
    ]),
  );
}

/** Those that there are, of a file that is only read: one of an earlier release has fewer. */
export function openTablesThere(root: Root): ReadonlyMap<Table, Bytes> {
  const there = new Map<Table, Bytes>();
  // The root's own keys are the names of its tables.
  const names = new Set(Array.from(root.getKeys(), String));
  for (const name of tables)
    if (names.has(name))
      there.set(name, root.openDB({ name, encoding: "binary", keyEncoding: "binary" }));
  return there;
}

/** How much a table holds. */
export function tableSize(table: Bytes): { readonly entries: number; readonly bytes: number } {
  const stats = table.getStats() as Readonly<Record<string, number>>;
  const count = (name: string): number => stats[name] ?? 0;
  const pages = count("treeBranchPageCount") + count("treeLeafPageCount") + count("overflowPages");
  return { entries: count("entryCount"), bytes: pages * count("pageSize") };
}

/** How much all of the tables hold, or one of them. */
export function usedBytes(all: ReadonlyMap<Table, Bytes>, of?: Table): number {
  let bytes = 0;
  for (const [name, table] of all)
    if (of === undefined || of === name) bytes += tableSize(table).bytes;
  return bytes;
}

/** The schema of a store: of one without a number, the first. */
export function storedSchema(meta: Meta): number {
  return Number(meta.get("schema")?.toString() ?? 1);
}

/** Reads every byte of every table, and what LMDB needs to write; writes nothing. */
export function readAll(root: Root): void {
  for (const table of openTables(root).values()) for (const _ of table.getRange({}));
  root.transactionSync(() => {
    root.putSync("check", Buffer.alloc(0));
    return ABORT;
  });
}

/** That LMDB can't open the file. */
export function unreadable(file: string, cause: unknown): StoreUnreadableError {
  return new StoreUnreadableError(`${file} can't be opened: ${plainReason(cause)}`, { cause });
}

/**
 * Why a commit failed. lmdb reports it by a promise of its own, which must be handled or it ends
 * the process.
 */
export async function commitFailure(error: unknown): Promise<unknown> {
  const reported =
    typeof error === "object" && error !== null && "commitError" in error
      ? error.commitError
      : null;
  return reported instanceof Promise
    ? await reported.then(
        () => error,
        (reason: unknown) => reason,
      )
    : error;
}
