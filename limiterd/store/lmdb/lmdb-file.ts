/**
 * The file of the store as LMDB opens it: its tables, and all that is in them, as bytes. What the
 * bytes mean, and how changes are committed, is in `lmdb-store.ts`.
 */
import { existsSync } from "node:fs";
import { ABORT, type Database, open, type RootDatabase } from "lmdb";
import { StoreUnreadableError, type Table, tables } from "../store.js";
import { checkStoreFile, DamagedStoreError } from "./check-store-file.js";
import { damageReason, plainReason } from "./probe-disk.js";

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

/**
 * Opens each table. `make`: of a store that is made or migrated, those that aren't there; otherwise
 * throws `StoreUnreadableError` when one is missing.
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

/** As `openTables`, what is known of the store itself. */
export function openMeta(file: string, root: Root, { make = false } = {}): Meta {
  if (!make) requireTables(file, root, ["meta"]);
  return root.openDB<Buffer, string>({ name: "meta", encoding: "binary" });
}

/** LMDB would make an empty one. */
function requireTables(file: string, root: Root, names: readonly string[]): void {
  // The root's own keys are the names of its tables.
  const there = new Set(root.getKeys());
  const missing = names.find((name) => !there.has(name));
  if (missing !== undefined) throw new DamagedStoreError(file, `its table ${missing} is missing`);
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

/** The number of a store's schema. Throws `StoreUnreadableError` when it has none. */
export function storedSchema(file: string, meta: Meta): number {
  const schema = meta.get("schema")?.toString() ?? "";
  if (!/^[1-9]\d{0,4}$/.test(schema))
    throw new DamagedStoreError(file, "it has lost the number of its schema");
  return Number(schema);
}

/** Reads every byte of every table, and what LMDB needs to write; writes nothing. */
export function readAll(root: Root): void {
  for (const name of root.getKeys())
    for (const _ of root.openDB({ name, encoding: "binary", keyEncoding: "binary" }).getRange({}));
  root.transactionSync(() => {
    root.putSync("check", Buffer.alloc(0));
    return ABORT;
  });
}

/** That LMDB can't open the file. */
export function unreadable(file: string, cause: unknown): StoreUnreadableError {
  const damage = damageReason(cause);
  return damage === null
    ? new StoreUnreadableError(`${file} can't be opened: ${plainReason(cause)}`, { cause })
    : new DamagedStoreError(file, damage);
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
