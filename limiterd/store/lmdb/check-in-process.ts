/**
 * Checks a store in a process of its own before the daemon opens it, which a damaged file could end
 * without a word. It takes time, so it is left out where the file is as the last owner left it:
 * that owner has read and written it without trouble, and the check of its pages is enough. What
 * the process does is in `check-process.ts`, how the last owner left the file in `store-mark.ts`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { StoreUnreadableError } from "../store.js";
import { DamagedStoreError } from "./check-store-file.js";

/** Rejects with `StoreUnreadableError` when the file can't be read completely. */
export async function checkInProcess(file: string): Promise<void> {
  const child = fork(new URL("./check-process.js", import.meta.url), [file], {
    execArgv: [],
    // LMDB prints what it finds; the message says it in our words.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let said: unknown = null;
  child.on("message", (message) => {
    said = message;
  });
  const [code] = (await once(child, "exit")) as [number | null];
  const problem = problemOf(file, said, code);
  if (problem !== null) throw problem;
}

/** What the process reports: one of these. */
interface Verdict {
  readonly readable: boolean;
  /** Of a damaged store. */
  readonly flaw: string;
  readonly problem: string;
}

/** What the process's end means. `code`: its exit code, null when a signal ended it. */
export function problemOf(
  file: string,
  said: unknown,
  code: number | null,
): StoreUnreadableError | null {
  const { readable, flaw, problem } = (said ?? {}) as Partial<Verdict>;
  if (readable === true && code === 0) return null;
  return problem === undefined
    ? new DamagedStoreError(
        file,
        flaw ?? "it is damaged or incomplete: reading it ends the process that tries",
      )
    : new StoreUnreadableError(problem);
}
