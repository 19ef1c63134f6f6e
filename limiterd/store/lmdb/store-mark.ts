/**
 * The mark beside a store says three things: that there is a store, so that a data directory whose
 * store is gone doesn't silently begin with an empty one; how its last owner left the file, so that
 * a large file that hasn't changed since isn't checked completely; and whether the store has had
 * keys, because a gateway that only they close would be open without them.
 */
import { existsSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { StoreUnreadableError } from "../store.js";
import { damaged } from "./check-store-file.js";
import { hostBoot } from "./host-boot.js";

/** Between two touches of the mark. */
export const touchMs = 1000;

/** Beside `file`. */
function markFile(file: string): string {
  return `${file}.mark`;
}

/** Throws `StoreUnreadableError` when there was a store here, and isn't any more. */
export function requireStoreOrNone(file: string): void {
  if (existsSync(file) || !existsSync(markFile(file))) return;
  throw damaged(file, "it is gone, though this directory has had a store");
}

/** Throws `StoreUnreadableError` when a store here has had keys, and this one hasn't. */
export function requireKeys(file: string, hasKeys: boolean): void {
  if (hasKeys || !hadKeys(file)) return;
  throw new StoreUnreadableError(
    `${file} has no keys, though this directory has had a store with some: a gateway that only they close would be open. Put a backup in its place with sluice restore, or, to go on without them, remove ${markFile(file)}`,
  );
}

/** Notes that a store is there, in use, and that it has keys; the note of keys stays. */
export function markInUse(file: string, hasKeys: boolean): void {
  writeMark(file, ownedText(file), hasKeys || hadKeys(file));
}

/** Notes that its owner wrote it just now; to be called every `touchMs` while it does. */
export function touchMark(file: string): void {
  const now = new Date();
  try {
    utimesSync(markFile(file), now, now);
  } catch {
    // It was taken away: the next start checks the file.
  }
}

/** Notes that its owner has closed it whole. */
export function markClosed(file: string): void {
  writeMark(file, stateOf(file), hadKeys(file));
}

/**
 * Whether the file is as its last owner left it: closed, or killed while it had it. What the kernel
 * had taken from a killed process is in the file, unless the machine went down with it; whoever
 * copies another file over it does so later.
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

/** Whether what changed the file was its owner, by when it and the mark were changed. */
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

/** Its lines. Throws without a mark. */
function readMark(file: string): readonly string[] {
  return readFileSync(markFile(file), "utf8").split("\n");
}

/** In one step: half a mark would be one. On a disk without room the old one stays. */
function writeMark(file: string, state: string, keys: boolean): void {
  const fresh = `${markFile(file)}.new`;
  try {
    writeFileSync(fresh, `${state}\n${keys ? `${keysLine}\n` : ""}`, { mode: 0o600 });
    renameSync(fresh, markFile(file));
  } catch {
    // A full disk: the file is checked at the next start; a mark that is there still says that
    // there is a store.
  }
}
