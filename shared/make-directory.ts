/**
 * Creates a directory and its missing parents. Node's own `recursive` never returns where creating
 * a directory fails with ENOENT although its parent exists, as in `/proc`.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Returns the first directory created, or undefined if all existed. Throws the system's error, or
 * one that names the directory in which none can be created.
 */
export function makeDirectory(path: string, mode: number): string | undefined {
  const isFirst = isMade(path, mode);
  if (isFirst !== null) return isFirst ? path : undefined;
  const above = dirname(path);
  const firstMade = above === path ? undefined : makeDirectory(above, mode);
  if (isMade(path, mode) === null) throw new Error(`${above} takes no directories`);
  return firstMade ?? path;
}

/** True: created; false: it existed; null: its parent is missing. */
function isMade(path: string, mode: number): boolean | null {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    // On a read-only file system the error is EROFS even for a directory that exists.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return false;
    throw error;
  }
}
