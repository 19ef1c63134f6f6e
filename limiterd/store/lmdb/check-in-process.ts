/**
 * Checks a store in a process of its own before the daemon opens it, because LMDB may end a process
 * that reads a damaged file, without an error. This reads the whole file, which takes time: if the
 * file hasn't changed since its last owner used it, `open-lmdb-store.ts` only checks its pages. The
 * process runs `check-process.ts`; `store-mark.ts` tells whether the file has changed.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { StoreUnreadableError } from "../store.js";
import { DamagedStoreError } from "./check-store-file.js";

/** Rejects with `StoreUnreadableError` when the file can't be read completely. */
export async function checkInProcess(file: string): Promise<void> {
  const child = fork(new URL("./check-process.js", import.meta.url), [file], {
    execArgv: [],
    // LMDB prints what it finds; the error message replaces that.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let lastMessage: unknown = null;
  child.on("message", (message) => {
    lastMessage = message;
  });
  const [code] = (await once(child, "exit")) as [number | null];
  const problem = problemOf(file, lastMessage, code);
  if (problem !== null) throw problem;
}

/** What the process reports: one of these. */
interface Verdict {
  readonly readable: boolean;
  /** The flaw of a damaged store. */
  readonly flaw: string;
  readonly problem: string;
}

/**
 * The problem that the process's end means; null if there is none. `code`: the exit code, null if a
 * signal ended the process.
 */
export function problemOf(
  file: string,
  lastMessage: unknown,
  code: number | null,
): StoreUnreadableError | null {
  const { readable, flaw, problem } = (lastMessage ?? {}) as Partial<Verdict>;
  if (readable === true && code === 0) return null;
  return problem === undefined
    ? new DamagedStoreError(
        file,
        flaw ?? "it is damaged or incomplete: reading it ends the process that tries",
      )
    : new StoreUnreadableError(problem);
}
