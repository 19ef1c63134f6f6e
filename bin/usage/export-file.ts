/**
 * A file that is there whole or not at all: it is written beside its name and renamed at the end.
 * What isn't finished is removed, on Ctrl-C too; only a kill −9 leaves the `.partial` behind.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface ExportFile {
  /** Resolves when the system has the text. */
  write(text: string): Promise<void>;
  /** Gives the file its name, when it is on the disk; what had the name before is gone. */
  finish(): Promise<void>;
  /** Removes what was written. */
  abandon(): Promise<void>;
}

/** What stands at the path isn't a file that may be replaced: a directory, a device, a pipe. */
export class NotAFileError extends Error {
  override name = "NotAFileError";
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Begins a file. Rejects with `NotAFileError` or the system's error; a link's target is replaced,
 * not the link.
 */
export async function beginExportFile(path: string): Promise<ExportFile> {
  const target = await replaceable(path);
  const partial = join(dirname(target), `.${basename(target)}.${randomUUID().slice(0, 8)}.partial`);
  const file = await open(partial, "wx");
  const onSignal = (signal: NodeJS.Signals): void => {
    rmSync(partial, { force: true });
    forget();
    process.kill(process.pid, signal);
  };
  const forget = (): void => endings.forEach((signal) => void process.off(signal, onSignal));
  endings.forEach((signal) => void process.on(signal, onSignal));
  return {
    write: (text) => file.appendFile(text),
    async finish() {
      await file.sync();
      await file.close();
      await rename(partial, target);
      forget();
    },
    async abandon() {
      await file.close();
      await rm(partial, { force: true });
      forget();
    },
  };
}

async function replaceable(path: string): Promise<string> {
  try {
    if (!(await stat(path)).isFile()) throw new NotAFileError(`${path} is not a file`);
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return path;
    throw error;
  }
}
