/**
 * A file that exists only once it is complete: it is written under another name and renamed at the
 * end. An unfinished file is removed, also on Ctrl-C; only SIGKILL leaves a `.partial` behind.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface ExportFile {
  /** Resolves once the operating system has accepted the text. */
  write(text: string | Uint8Array): Promise<void>;
  /**
   * Syncs the file to disk and renames it, replacing an existing file. `check` may reject before
   * that.
   */
  finish(check?: (path: string) => Promise<void>): Promise<void>;
  /** Removes the unfinished file. */
  abandon(): Promise<void>;
}

/** The path isn't a regular file, which may be replaced, but a directory, a device or a pipe. */
export class NotAFileError extends Error {
  override name = "NotAFileError";
}

const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Begins a file. Rejects with `NotAFileError` or the system's error. If the path is a link, its
 * target is replaced, not the link.
 */
export async function beginExportFile(path: string, mode = 0o666): Promise<ExportFile> {
  const target = await replaceablePath(path);
  const partial = join(dirname(target), `.${basename(target)}.${randomUUID().slice(0, 8)}.partial`);
  const file = await open(partial, "wx", mode);
  const onSignal = (signal: NodeJS.Signals): void => {
    rmSync(partial, { force: true });
    forget();
    process.kill(process.pid, signal);
  };
  const forget = (): void => {
    for (const signal of endSignals) process.off(signal, onSignal);
  };
  for (const signal of endSignals) process.on(signal, onSignal);
  return {
    write: (text) => file.appendFile(text),
    async finish(check) {
      await file.sync();
      await check?.(partial);
      await file.close();
      await rename(partial, target);
      await syncDirectory(dirname(target));
      forget();
    },
    async abandon() {
      await file.close();
      await rm(partial, { force: true });
      forget();
    },
  };
}

/** Makes the new name durable. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  // Some file systems don't support it and don't need it.
  await directory.sync().catch(() => {});
  await directory.close();
}

async function replaceablePath(path: string): Promise<string> {
  try {
    if (!(await stat(path)).isFile()) throw new NotAFileError(`${path} is not a file`);
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return path;
    throw error;
  }
}
