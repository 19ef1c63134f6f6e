/**
 * Detects changes of the configuration file by polling, so that a file behind links is watched,
 * too: Kubernetes changes the link of a ConfigMap.
 */
import { stat } from "node:fs";

/** The polling interval. */
const pollMs = 500;
/** How many polls after a change must find the file unchanged. */
const sameLooks = 2;

/**
 * Decides when a changed file has settled: once it has been the same for a second. A half-written
 * or empty file could be a valid configuration of an open gateway. It counts polls, not time, which
 * also passes while this process is stopped. Pure.
 */
export class SettledFile {
  #state: string | null = null;
  #checksLeft = 0;

  /**
   * Takes the state of a poll, and returns whether a change has settled. Null means that there is
   * no file, which isn't a change while an editor replaces it. The first state is the one to
   * compare with.
   */
  look(state: string | null): boolean {
    if (state === null) {
      // A file that appears later is a change.
      this.#state ??= "";
      return false;
    }
    if (state === this.#state) return this.#checksLeft > 0 && --this.#checksLeft === 0;
    this.#checksLeft = this.#state === null ? 0 : sameLooks;
    this.#state = state;
    return false;
  }
}

/** Returns a function that stops watching. */
export function watchFile(path: string, onSettled: () => void): () => void {
  const file = new SettledFile();
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  const poll = (): void => {
    stat(path, { bigint: true }, (error, stats) => {
      if (isOver) return;
      const state =
        error === null
          ? [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ")
          : null;
      if (file.look(state)) onSettled();
      timer = setTimeout(poll, pollMs).unref();
    });
  };
  poll();
  return () => {
    isOver = true;
    if (timer !== null) clearTimeout(timer);
  };
}
