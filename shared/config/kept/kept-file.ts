/**
 * The file in which what was parsed of a configuration is kept: read only if it is this user's
 * alone, and written completely or not at all.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";

const name = "configuration.kept";
const openToOthers = 0o077;
const writableByOthers = 0o022;
/** However slow the disk is, nobody writes for so long. */
const abandonedMs = 60_000;
/** More than the largest configuration makes. */
const bytesMax = 32 * 1024 * 1024;

/** Who may have written it. */
const ownUid = process.geteuid?.() ?? 0;

/** Null if there is none, or none that is this user's alone. */
export function readKept(directory: string): Buffer | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let descriptor: number | null = null;
  try {
    // A pipe of this name must not hold the start up.
    descriptor = openSync(join(directory, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const status = fstatSync(descriptor);
    const isOwn = status.uid === ownUid && (status.mode & openToOthers) === 0;
    return isOwn && status.isFile() && status.size <= bytesMax ? readFileSync(descriptor) : null;
  } catch {
    // None, or not to be read: the configuration is parsed, as ever.
    return null;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/**
 * Writes it in the place of the one that is there; half of it, or one that a crash has emptied,
 * doesn't open. Rejects when it can't; then nothing of it is left, and the one before is as it was.
 */
export async function writeKept(directory: string, bytes: Buffer): Promise<void> {
  // As the proxy's spool does; not what it is in.
  await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const status = await lstat(directory);
  if (!status.isDirectory() || status.uid !== ownUid || (status.mode & writableByOthers) !== 0)
    throw new Error(`${directory} isn't this user's alone`);
  const part = join(directory, `${name}.part`);
  const left = await lstat(part).catch(() => null);
  // Of a process that was killed; a younger one is being written by another proxy.
  if (left !== null && Date.now() - left.mtimeMs > abandonedMs) await unlink(part);
  const file = await open(part, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await rename(part, join(directory, name));
  } catch (error) {
    await unlink(part).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}
