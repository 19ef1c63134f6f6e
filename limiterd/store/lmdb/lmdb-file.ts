/**
 * The store's file as LMDB opens it: its tables with their entries as bytes. Not here: what the
 * bytes mean and how changes are committed (`lmdb-store.ts`).
 */
import { existsSync } from "node:fs";
import { ABORT, type Database, open, type RootDatabase } from "lmdb";
import { StoreUnreadableError, type Table, tables } from "../store.js";
import { checkStoreFile, DamagedStoreError } from "./check-store-file.js";
import { damageReason, plainReason } from "./probe-disk.js";

export type Bytes = Database<Buffer, Buffer>;
export type Root = RootDatabase<Buffer, string>;
/** The table of facts about the store itself, such as its schema. */
export type Meta = Database<Buffer, string>;

/** Throws `StoreUnreadableError`. `readOnly`: the file is neither changed nor created. */
export function openRoot(file: string, { readOnly = false } = {}): Root {
  // LMDB creates its files by the mask, so that only their owner can read them.
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

/**
 * Opens each table. `make`: creates missing tables, for a store that is created or migrated.
 * Without it, throws `StoreUnreadableError` if a table is missing.
 */
export function openTables(
  file: string,
  root: Root,
  { make = false } = {},
): ReadonlyMap<Table, Bytes> {
  if (!make) requireTables(file, root, tables);
  return new Map(
    tables.map((name) => [
      name,
      root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" }),
    ]),
  );
}

/** As `openTables`, for the table of facts about the store itself. */
export function openMeta(file: string, root: Root, { make = false } = {}): Meta {
  if (!make) requireTables(file, root, ["meta"]);
  return root.openDB<Buffer, string>({ name: "meta", encoding: "binary" });
}

/** LMDB would create an empty table in place of a missing one. */
function requireTables(file: string, root: Root, names: readonly string[]): void {
  // The root's keys are the names of its tables.
  const tableNames = new Set(root.getKeys());
  const missing = names.find((name) => !tableNames.has(name));
  if (missing !== undefined) throw new DamagedStoreError(file, `its table ${missing} is missing`);
}

/** The entries of a table and the bytes of its pages. */
export function tableSize(table: Bytes): { readonly entries: number; readonly bytes: number } {
  const stats = table.getStats() as Readonly<Record<string, number>>;
  const count = (name: string): number => stats[name] ?? 0;
  const pages = count("treeBranchPageCount") + count("treeLeafPageCount") + count("overflowPages");
  return { entries: count("entryCount"), bytes: pages * count("pageSize") };
}

/** The bytes of all tables, or of one. */
export function usedBytes(all: ReadonlyMap<Table, Bytes>, only?: Table): number {
  let bytes = 0;
  for (const [name, table] of all)
    if (only === undefined || only === name) bytes += tableSize(table).bytes;
  return bytes;
}

/** The number of a store's schema. Throws `StoreUnreadableError` when it has none. */
export function storedSchema(file: string, meta: Meta): number {
  const schema = meta.get("schema")?.toString() ?? "";
  if (!/^[1-9]\d{0,4}$/.test(schema))
    throw new DamagedStoreError(file, "it has lost the number of its schema");
  return Number(schema);
}

/** Reads every byte of every table and the pages that LMDB reads before a write; writes nothing. */
export function readAll(root: Root): void {
  for (const name of root.getKeys())
    for (const _ of root.openDB({ name, encoding: "binary", keyEncoding: "binary" }).getRange({}));
  root.transactionSync(() => {
    root.putSync("check", Buffer.alloc(0));
    return ABORT;
  });
}

/** The error for a file that LMDB can't open. */
export function unreadable(file: string, cause: unknown): StoreUnreadableError {
  const damage = damageReason(cause);
  return damage === null
    ? new StoreUnreadableError(`${file} can't be opened: ${plainReason(cause)}`, { cause })
    : new DamagedStoreError(file, damage);
}

/**
 * Why a commit failed. lmdb reports the reason by a separate promise, whose rejection ends the
 * process unless it is handled.
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
