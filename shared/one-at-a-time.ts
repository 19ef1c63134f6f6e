/**
 * A queue that runs one piece of work at a time and starts the next when the current one calls
 * `done`. The caller decides what the work is and bounds the queue.
 */

/** Calls `done` once, with the time of completion, possibly before it returns. */
type Work = (nowMs: number, done: (nowMs: number) => void) => void;

export class OneAtATime {
  #waiting: Work[] = [];
  #next = 0;
  #isRunning = false;

  /** Pieces of work that haven't started. */
  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  /** Runs `work` now, or once all earlier work is done. */
  add(work: Work, nowMs: number): void {
    this.#waiting.push(work);
    if (!this.#isRunning) this.#run(nowMs);
  }

  /** Loops rather than recursing: thousands of pieces may call `done` before they return. */
  #run(startMs: number): void {
    let nowMs = startMs;
    while (!this.#isRunning && this.#next < this.#waiting.length) {
      this.#isRunning = true;
      let hasReturned = false;
      this.#waiting[this.#next++]!(nowMs, (doneMs) => {
        this.#isRunning = false;
        if (hasReturned) this.#run(doneMs);
        else nowMs = doneMs;
      });
      hasReturned = true;
    }
    if (this.#next < this.#waiting.length) return;
    this.#waiting = [];
    this.#next = 0;
  }
}
