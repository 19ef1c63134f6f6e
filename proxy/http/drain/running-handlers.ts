/**
 * The number of running request handlers: a stop waits until it is 0. A count, not a set of
 * promises, because every request changes it.
 */
export class RunningHandlers {
  #count = 0;
  #waiting: (() => void)[] = [];

  began(): void {
    this.#count++;
  }

  /** Bound, so that it can be passed to `then`. */
  readonly ended = (): void => {
    if (--this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  };

  /** Resolves when no handler runs. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#waiting.push(resolve);
    });
  }
}
