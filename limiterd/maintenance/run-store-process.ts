/**
 * Runs work on a store in a process of its own (`store-process.ts`): LMDB maps its file, and a page
 * that is missing or torn ends the process that meets it.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { isObject } from "../../shared/checked.js";
import { StoreUnreadableError } from "../store/store.js";

interface StoreWork {
  /** What it says at its end. Rejects with `StoreUnreadableError`. */
  readonly done: Promise<unknown>;
  cancel(): void;
}

/**
 * `work`: its name and its arguments, the first of which is the store's file. `onProgress` is told
 * how much of it is done, from 0 to 1.
 */
export function runStoreProcess(
  work: readonly [name: "copy" | "verify" | "adopt", file: string, ...rest: string[]],
  onProgress: (ratio: number) => void = () => {},
): StoreWork {
  const child = fork(new URL("./store-process.js", import.meta.url), work, {
    execArgv: [],
    // LMDB prints what it finds; the message says it in our words.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let said: unknown = null;
  child.on("message", (message) => {
    if (isObject(message) && typeof message["progress"] === "number")
      onProgress(message["progress"]);
    else said = message;
  });
  return {
    done: once(child, "exit").then(([code]: unknown[]) => resultOf(work[1], said, code)),
    cancel: () => void child.kill("SIGKILL"),
  };
}

/** What the process's end means. `code`: its exit code, null when a signal ended it. */
export function resultOf(file: string, said: unknown, code: unknown): unknown {
  const { result, problem } = isObject(said) ? said : {};
  if (typeof problem === "string") throw new StoreUnreadableError(problem);
  if (result === undefined || code !== 0)
    throw new StoreUnreadableError(
      `${file} can't be read: it is damaged or incomplete: reading it ends the process that tries. Restore a backup that is whole`,
    );
  return result;
}
