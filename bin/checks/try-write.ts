/** Tries to write a small file in a directory, through to the disk, and removes it. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const bytes = 64 * 1024;

/** Why the directory isn't writable; "" if it is; null if this user may not try. */
export function tryWrite(directory: string): string | null {
  const file = join(directory, `.sluice-doctor-${process.pid}`);
  let opened: number | null = null;
  try {
    opened = openSync(file, "wx", 0o600);
    writeSync(opened, Buffer.alloc(bytes, 1));
    fsyncSync(opened);
    return "";
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    return ["EACCES", "EPERM", "ENOENT", "EEXIST"].includes(code) ? null : message;
  } finally {
    if (opened !== null) {
      closeSync(opened);
      rmSync(file, { force: true });
    }
  }
}
