/** The time for all ages and countdowns, with one tick a second. */
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
