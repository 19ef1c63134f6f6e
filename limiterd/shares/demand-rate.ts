/** How fast a counter is used, so that what it will need soon is asked for ahead. */
import { aheadMs, lookMs } from "./share-bounds.js";

export class DemandRate {
  #perMs = 0;
  #used = 0;
  #sinceMonoMs: number;

  constructor(monoMs: number) {
    this.#sinceMonoMs = monoMs;
  }

  used(): void {
    this.#used++;
  }

  clear(monoMs: number): void {
    this.#perMs = 0;
    this.#used = 0;
    this.#sinceMonoMs = monoMs;
  }

  /** What the next `aheadMs` are expected to use, by the last tenth of a second or more. */
  ahead(monoMs: number): number {
    const elapsedMs = monoMs - this.#sinceMonoMs;
    if (elapsedMs >= lookMs) {
      this.#perMs = this.#used / elapsedMs;
      this.#used = 0;
      this.#sinceMonoMs = monoMs;
    }
    return Math.ceil(this.#perMs * aheadMs);
  }
}
