/** Tries whether a directory takes a small file, on its disk; the file is removed at once. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const bytes = 64 * 1024;

/** The reason why not; "" if it does; null: this user may not try. */
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
