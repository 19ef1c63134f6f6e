/**
 * The mark beside a store: that there is one here, so that a data directory whose store is gone
 * doesn't silently begin with an empty one; and how its last owner left the file, so that one that
 * nobody has touched since needn't be checked again.
 */
import { existsSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
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

/** Notes that there is a store, in use. */
export function markInUse(file: string): void {
  writeMark(file, ownedText(file));
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
  writeMark(file, `${stateOf(file)}\n`);
}

/**
 * Whether the file is as its last owner left it: closed, or killed while it had it. What the kernel
 * had taken from a killed process is in the file, unless the machine went down with it; whoever
 * copies another file over it does so later.
 */
export function isAsLeft(file: string): boolean {
  try {
    const mark = readFileSync(markFile(file), "utf8");
    if (mark === `${stateOf(file)}\n`) return true;
    return (
      mark === ownedText(file) &&
      isUntouched(statSync(file).ctimeMs, statSync(markFile(file)).ctimeMs)
    );
  } catch {
    // No mark: a store of an earlier release, or a copy.
    return false;
  }
}

/** Whether what changed the file was its owner, by when it and the mark were changed. */
export function isUntouched(fileMs: number, markMs: number): boolean {
  return fileMs <= markMs + 2 * touchMs;
}

function ownedText(file: string): string {
  const { dev, ino } = statSync(file, { bigint: true });
  return `in use ${hostBoot()} ${dev} ${ino}\n`;
}

function stateOf(file: string): string {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return `closed ${dev} ${ino} ${size} ${mtimeNs}`;
}

/** In one step: half a mark would be one. On a disk without room the old one stays. */
function writeMark(file: string, text: string): void {
  const fresh = `${markFile(file)}.new`;
  try {
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, markFile(file));
  } catch {
    // A full disk: the file is checked at the next start; a mark that is there still says that
    // there is a store.
  }
}
