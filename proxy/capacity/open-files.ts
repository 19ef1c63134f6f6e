/**
 * Whether the process can still open files and sockets. Node closes connections that it has no file
 * descriptor for without a word, and an error of a name's look-up may hide the same lack, so a
 * descriptor is asked for, now and then and after failures.
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Log } from "../../shared/log.js";

const checkMs = 1_000;
/**
 * Descriptors that are held only to be given up when there are no others: they let the connections
 * of probes in.
 */
const spareFiles = 4;

export interface OpenFiles {
  /** How many the process may open; Infinity where the system doesn't say. */
  readonly max: number;
  /** As of the last check; from then on until the spare ones are back. */
  readonly exhausted: boolean;
  /** What a failed connection was about: this lack, if there is one, or else the error itself. */
  blame(error: Error): Error;
  close(): void;
}

/** `onExhausted`: at each check that finds none left. */
export function watchOpenFiles(log: Log, onExhausted: () => void): OpenFiles {
  const max = filesMax();
  let exhausted = false;
  let spare = openSpare(spareFiles).files;
  const check = (): Error | null => {
    const { files, lack } = openSpare(exhausted ? spareFiles : 1);
    if (lack !== null && !exhausted) {
      log.error(
        { code: lack.code, max },
        "no file descriptors are left: requests get 503, and /ready too; raise LimitNOFILE or ulimit -n",
      );
      closeAll(spare);
      spare = [];
    }
    if (lack === null && exhausted) {
      log.info("there are file descriptors again");
      spare = files;
    } else closeAll(files);
    exhausted = lack !== null;
    return lack;
  };
  const timer = setInterval(() => {
    if (check() !== null) onExhausted();
  }, checkMs);
  timer.unref();
  return {
    max,
    get exhausted() {
      return exhausted;
    },
    blame: (error) => check() ?? error,
    close() {
      clearInterval(timer);
      closeAll(spare);
      spare = [];
    },
  };
}

/** `lack`: why not all of them could be opened. */
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
    // Any other error says nothing about descriptors, such as a jail without /dev.
    const isLack = code === "EMFILE" || code === "ENFILE";
    return { files, lack: isLack ? (error as NodeJS.ErrnoException) : null };
  }
}

function closeAll(files: readonly number[]): void {
  for (const file of files) closeSync(file);
}

/** The soft limit, which Node raises to the hard one when it starts. */
function filesMax(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    // Not Linux, or no /proc: the bound of connections stays as it is set.
    return Number.POSITIVE_INFINITY;
  }
}
