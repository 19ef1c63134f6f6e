/**
 * How many handlers of requests run: one that stops waits until none does. A count, not a set of
 * promises: it is kept for each request.
 */
export class RunningHandlers {
  #count = 0;
  #waiting: (() => void)[] = [];

  began(): void {
    this.#count++;
  }

  /** Bound, so that it can be handed to `then` as it is. */
  readonly ended = (): void => {
    if (--this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  };

  /** Resolved once none runs. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#waiting.push(resolve);
    });
  }
}
