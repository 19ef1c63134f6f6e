/**
 * Tells when the configuration file has changed. It is looked at again and again, so that one
 * behind links is watched, too: Kubernetes changes the link of a ConfigMap.
 */
import { stat } from "node:fs";

/** The time between two looks, in ms. */
const pollMs = 500;
/** How many looks after a change must find the file as it is. */
const sameLooks = 2;

/**
 * A change counts once the file has stayed the same for a second: the first half of one that is
 * still being written, or an empty one, could be a valid configuration, and an open gateway. Looks
 * are counted, not time, which also passes while this process stands still. Pure.
 */
export class SettledFile {
  #state: string | null = null;
  #checksLeft = 0;

  /**
   * What a look has found; null: no file, which is no change while an editor replaces it. Returns
   * whether a change has settled. The first look is what later ones are compared with.
   */
  look(state: string | null): boolean {
    if (state === null) {
      // One that appears later is a change.
      this.#state ??= "";
      return false;
    }
    if (state === this.#state) return this.#checksLeft > 0 && --this.#checksLeft === 0;
    this.#checksLeft = this.#state === null ? 0 : sameLooks;
    this.#state = state;
    return false;
  }
}

/** Returns a function that ends it. */
export function watchFile(path: string, onSettled: () => void): () => void {
  const file = new SettledFile();
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  const poll = (): void => {
    stat(path, { bigint: true }, (error, found) => {
      if (isOver) return;
      const state =
        error === null
          ? [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ")
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
