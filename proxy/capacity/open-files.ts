/**
 * Whether the process can still open files and sockets. Without file descriptors Node closes
 * connections silently, and a DNS error may have the same cause, so this opens a descriptor
 * periodically and after failures.
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Log } from "../../shared/log.js";

const checkMs = 1_000;
/** Spare descriptors, closed when no others are left so that probes can connect. */
const spareFiles = 4;

export interface OpenFiles {
  /** How many files the process may open; Infinity if unknown. */
  readonly max: number;
  /** The result of the last check; true until the spare descriptors are back. */
  readonly isExhausted: boolean;
  /** The cause of a failed connection: no descriptors left, or the error itself. */
  replaceError(error: Error): Error;
  close(): void;
}

/** `onExhausted` runs at each check that finds none left. */
export function watchOpenFiles(log: Log, onExhausted: () => void): OpenFiles {
  const max = filesMax();
  let spare = openSpare(spareFiles).files;
  const check = (): Error | null => {
    const { files, lack } = openSpare(open.isExhausted ? spareFiles : 1);
    if (lack !== null && !open.isExhausted) {
      log.error(
        { code: lack.code, max },
        "no file descriptors are left: requests get 503, and /ready too; raise LimitNOFILE or ulimit -n",
      );
      closeAll(spare);
      spare = [];
    }
    if (lack === null && open.isExhausted) {
      log.info("file descriptors are available again");
      spare = files;
    } else closeAll(files);
    open.isExhausted = lack !== null;
    return lack;
  };
  const timer = setInterval(() => {
    if (check() !== null) onExhausted();
  }, checkMs);
  timer.unref();
  // Not a getter: every request reads it.
  const open = {
    max,
    isExhausted: false,
    replaceError: (error: Error) => check() ?? error,
    close() {
      clearInterval(timer);
      closeAll(spare);
      spare = [];
    },
  };
  return open;
}

/** `lack`: the error that ended the opening. */
function openSpare(count: number): {
  readonly files: readonly number[];
  readonly lack: NodeJS.ErrnoException | null;
} {
  const files: number[] = [];
  try {
    while (files.length < count) files.push(openSync("/dev/null", "r"));
    return { files, lack: null };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Other errors aren't about descriptors, such as a jail without /dev.
    const isLack = code === "EMFILE" || code === "ENFILE";
    return { files, lack: isLack ? (error as NodeJS.ErrnoException) : null };
  }
}

function closeAll(files: readonly number[]): void {
  for (const file of files) closeSync(file);
}

/** The soft limit; Node raises it to the hard limit at startup. */
function filesMax(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    // Not Linux, or no /proc: the configured bound of connections applies.
    return Number.POSITIVE_INFINITY;
  }
}
