/**
 * Checks whether a file is a whole store before LMDB opens it: its head, then each page
 * (`check-pages.ts`) and each entry. Not here: missing tables, which are detected when the store is
 * opened.
 */
import { closeSync, constants, openSync } from "node:fs";
import { StoreUnreadableError, type Table, tables } from "../store.js";
import { checkPages, DamagedPagesError } from "./check-pages.js";
import { isSealed, keyFromBytes } from "./entry-bytes.js";
import { isIoError, plainReason } from "./probe-disk.js";
import { flawOfOpenFile } from "./store-file.js";

/**
 * Throws `DamagedStoreError` for a file that isn't a store, and the operating system's error for
 * one that can't be read.
 */
export function checkStoreFile(file: string): void {
  const flaw = flawOfStoreFile(file);
  if (flaw !== null) throw new DamagedStoreError(file, flaw);
}

/**
 * Throws `StoreUnreadableError` unless all pages and entries are as a store wrote them. `skipped`:
 * tables whose entries aren't read.
 */
export function checkWholeStore(
  file: string,
  options: { readonly skipped?: ReadonlySet<Table> } = {},
): void {
  withReason(file, () => {
    checkStoreFile(file);
    checkPagesOf(file, { ...options, tables: tableNames, onEntry: requireWholeEntry });
  });
}

function checkPagesOf(file: string, options: Parameters<typeof checkPages>[1]): void {
  try {
    checkPages(file, options);
  } catch (error) {
    if (error instanceof DamagedPagesError) throw new DamagedStoreError(file, error.message);
    throw error;
  }
}

const tableNames: ReadonlySet<string> = new Set([...tables, "meta"]);

function requireWholeEntry(table: string, keyBytes: Buffer, sealed: Buffer): void {
  // The entries about the store itself aren't sealed.
  if (table === "meta") return;
  const key = keyFromBytes(keyBytes);
  if (key === null || !isSealed(table as Table, keyBytes, sealed))
    throw new DamagedPagesError(
      `the entry ${key === null ? keyBytes.toString("hex") : JSON.stringify(key)} of ${table} is damaged`,
    );
}

/** Why a file can't be a store; null if it may be one. Throws the operating system's error. */
function flawOfStoreFile(file: string): string | null {
  // Opening a FIFO without a writer would block.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return flawOfOpenFile(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Throws `StoreUnreadableError` for a file that can't be read, or isn't a store. */
export function requireStoreFile(file: string): void {
  withReason(file, () => checkStoreFile(file));
}

/**
 * As `requireStoreFile`, and checks the pages. The file must not be written meanwhile. Its entries
 * are checked when they are read.
 */
export function requireStorePages(file: string): void {
  withReason(file, () => {
    checkStoreFile(file);
    checkPagesOf(file, { tables: tableNames });
  });
}

function withReason(file: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (error instanceof StoreUnreadableError) throw error;
    // The disk has lost a part of it.
    if (isIoError(error)) throw new DamagedStoreError(file, plainReason(error));
    throw new StoreUnreadableError(`${file} can't be read: ${plainReason(error)}`, {
      cause: error,
    });
  }
}

/** The file isn't a whole store, or no longer is. */
export class DamagedStoreError extends StoreUnreadableError {
  readonly flaw: string;

  constructor(file: string, flaw: string) {
    super(`${file} can't be read: ${flaw}. Restore a backup that is whole`);
    this.flaw = flaw;
  }
}

/** The error of a daemon that finds a damaged store at its start. */
export function damagedError(file: string, flaw: string): StoreUnreadableError {
  return new StoreUnreadableError(
    `${file} can't be read: ${flaw}. Restore a backup with sluice restore, or, to begin with a new store without the keys, the limits and the usage that were in it, move it away and remove ${file}.mark`,
  );
}
