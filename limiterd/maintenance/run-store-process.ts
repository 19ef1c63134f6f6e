/**
 * Runs work on a store in a separate process (`store-process.ts`): LMDB maps its file, and a
 * missing or torn page ends the process that reads it.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { isObject } from "../../shared/checked.js";
import { StoreUnreadableError } from "../store/store.js";

interface StoreWork {
  /** Resolves with the result of the work. Rejects with `StoreUnreadableError`. */
  readonly done: Promise<unknown>;
  cancel(): void;
}

/**
 * `work`: its name and its arguments, the first of which is the store's file. `onProgress` is
 * called with the completed part, from 0 to 1.
 */
export function runStoreProcess(
  work: readonly [name: "copy" | "verify" | "adopt", file: string, ...rest: string[]],
  onProgress: (ratio: number) => void = () => {},
): StoreWork {
  const child = fork(new URL("./store-process.js", import.meta.url), work, {
    execArgv: [],
    // LMDB prints what it finds; the error message replaces that.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let lastMessage: unknown = null;
  child.on("message", (message) => {
    if (isObject(message) && typeof message["progress"] === "number")
      onProgress(message["progress"]);
    else lastMessage = message;
  });
  return {
    done: once(child, "exit").then(([code]: unknown[]) => resultOf(work[1], lastMessage, code)),
    cancel: () => void child.kill("SIGKILL"),
  };
}

/**
 * The result of the process's end. `code`: the exit code, null if a signal ended the process.
 * Throws `StoreUnreadableError`.
 */
export function resultOf(file: string, lastMessage: unknown, code: unknown): unknown {
  const { result, problem } = isObject(lastMessage) ? lastMessage : {};
  if (typeof problem === "string") throw new StoreUnreadableError(problem);
  if (result === undefined || code !== 0)
    throw new StoreUnreadableError(
      `${file} can't be read: it is damaged or incomplete: reading it ends the process that tries. Restore a backup that is whole`,
    );
  return result;
}
