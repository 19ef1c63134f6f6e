/** The time that ages and countdowns are reckoned by: one tick a second for all of them. */
import { type ReadonlySignal, signal } from "@preact/signals";

export class Clock {
  readonly #nowMs = signal(performance.now());

  /** Monotonic. */
  get nowMs(): ReadonlySignal<number> {
    return this.#nowMs;
  }

  start(): void {
    setInterval(() => {
      if (document.visibilityState === "visible") this.#nowMs.value = performance.now();
    }, 1_000);
  }
}
