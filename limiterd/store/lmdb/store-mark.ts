/**
 * The mark beside a store notes three facts: that there is a store, so that a data directory that
 * has lost its store doesn't silently begin with an empty one; the state in which its last owner
 * left the file, so that a large unchanged file isn't checked completely; and whether the store has
 * had keys, because a gateway that only managed keys protect would be open without them.
 */
import { existsSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { StoreUnreadableError } from "../store.js";
import { damagedError } from "./check-store-file.js";
import { hostBoot } from "./host-boot.js";

/** Interval of touches of the mark, in ms. */
export const touchMs = 1000;

/** The mark's file, beside `file`. */
function markFile(file: string): string {
  return `${file}.mark`;
}

/** Throws `StoreUnreadableError` if the store of this directory is gone. */
export function requireStoreOrNone(file: string): void {
  if (existsSync(file) || !existsSync(markFile(file))) return;
  throw damagedError(file, "it is gone, though this directory has had a store");
}

/** Throws `StoreUnreadableError` if a store here has had keys and this one has none. */
export function requireKeys(file: string, hasKeys: boolean): void {
  if (hasKeys || !hadKeys(file)) return;
  throw new StoreUnreadableError(
    `${file} has no keys, though this directory has had a store with some: a gateway that only they close would be open. Put a backup in its place with sluice restore, or, to go on without them, remove ${markFile(file)}`,
  );
}

/** Notes that a store exists and is in use, and whether it has keys; the note of keys stays. */
export function markInUse(file: string, hasKeys: boolean): void {
  writeMark(file, ownedText(file), hasKeys || hadKeys(file));
}

/** Notes that the owner has just written the store; call every `touchMs` while it writes. */
export function touchMark(file: string): void {
  const now = new Date();
  try {
    utimesSync(markFile(file), now, now);
  } catch {
    // The mark was removed: the next start checks the file.
  }
}

/** Notes that the owner has closed the complete store. */
export function markClosed(file: string): void {
  writeMark(file, stateOf(file), hadKeys(file));
}

/**
 * Whether the file is as its last owner left it when that closed it or was killed. What a killed
 * process had passed to the kernel is in the file, unless the machine also stopped. A file that was
 * copied over it changed later than the mark.
 */
export function isAsLeft(file: string): boolean {
  try {
    const [mark] = readMark(file);
    if (mark === stateOf(file)) return true;
    return (
      mark === ownedText(file) &&
      isUntouched(statSync(file).ctimeMs, statSync(markFile(file)).ctimeMs)
    );
  } catch {
    // No mark: the file is a copy.
    return false;
  }
}

/** Whether only the owner has changed the file, judged by when the file and the mark changed. */
export function isUntouched(fileMs: number, markMs: number): boolean {
  return fileMs <= markMs + 2 * touchMs;
}

function ownedText(file: string): string {
  const { dev, ino } = statSync(file, { bigint: true });
  return `in use ${hostBoot()} ${dev} ${ino}`;
}

function stateOf(file: string): string {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return `closed ${dev} ${ino} ${size} ${mtimeNs}`;
}

/** The mark's second line, if the store has had keys. */
const keysLine = "keys";

function hadKeys(file: string): boolean {
  try {
    return readMark(file).includes(keysLine);
  } catch {
    // No mark.
    return false;
  }
}

/** The mark's lines. Throws without a mark. */
function readMark(file: string): readonly string[] {
  return readFileSync(markFile(file), "utf8").split("\n");
}

/**
 * Replaces the mark in one step, because an incomplete mark would be read as one. On a full disk
 * the old mark stays.
 */
function writeMark(file: string, state: string, keys: boolean): void {
  const fresh = `${markFile(file)}.new`;
  try {
    writeFileSync(fresh, `${state}\n${keys ? `${keysLine}\n` : ""}`, { mode: 0o600 });
    renameSync(fresh, markFile(file));
  } catch {
    // A full disk: the next start checks the file, and an existing mark still notes that there is a
    // store.
  }
}
