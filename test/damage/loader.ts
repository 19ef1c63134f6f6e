/** Loads stores in a process of its own, which is started again when a store ends it. */
import { type ChildProcess, fork } from "node:child_process";
import type { Loaded } from "./loading-process.js";

/** What became of it; `ended`: of the process, by a signal or a code. */
export type Outcome = Loaded | { readonly kind: "ended"; readonly by: string };

/** A start that takes longer hangs. */
const deadlineMs = 120_000;

export class Loader {
  #child: ChildProcess | null = null;

  async load(directory: string): Promise<Outcome> {
    this.#child ??= fork(new URL("./loading-process.js", import.meta.url), { execArgv: [] });
    const child = this.#child;
    const outcome = await new Promise<Outcome>((resolve) => {
      const deadline = setTimeout(() => resolve({ kind: "ended", by: "a hang" }), deadlineMs);
      const finish = (outcome: Outcome): void => {
        clearTimeout(deadline);
        child.removeAllListeners();
        resolve(outcome);
      };
      child.once("message", (loaded) => finish(loaded as Loaded));
      child.once("exit", (code, signal) => finish({ kind: "ended", by: String(signal ?? code) }));
      child.send(directory);
    });
    if (outcome.kind === "ended") this.close();
    return outcome;
  }

  close(): void {
    this.#child?.removeAllListeners();
    this.#child?.kill("SIGKILL");
    this.#child = null;
  }
}
