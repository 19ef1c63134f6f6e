/**
 * Makes a directory and those above it. Node's own `recursive` tries for ever where the system says
 * that a directory isn't there in which it makes none, as in `/proc`.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Returns the first one that was made; undefined: all were there. Throws the system's error, or one
 * that says which directory takes none.
 */
export function makeDirectory(path: string, mode: number): string | undefined {
  const first = isMade(path, mode);
  if (first !== null) return first ? path : undefined;
  const above = dirname(path);
  const made = above === path ? undefined : makeDirectory(above, mode);
  if (isMade(path, mode) === null) throw new Error(`${above} takes no directories`);
  return made ?? path;
}

/** False: it was there; null: the one above isn't. */
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
