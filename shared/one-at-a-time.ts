/**
 * A queue of work of which one piece runs at a time: the next begins when the one before it says
 * that it is done. What the work is, and how many pieces may wait, is the caller's.
 */

/** `done` is called once, with the time at which it is done; it may be before this returns. */
type Work = (nowMs: number, done: (nowMs: number) => void) => void;

export class OneAtATime {
  #waiting: Work[] = [];
  #next = 0;
  #running = false;

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  /** Runs `work` now, or when all that was added before it is done. */
  add(work: Work, nowMs: number): void {
    this.#waiting.push(work);
    if (!this.#running) this.#run(nowMs);
  }

  /** A loop, not a recursion: thousands of pieces may be done before they return. */
  #run(startMs: number): void {
    let nowMs = startMs;
    while (!this.#running && this.#next < this.#waiting.length) {
      this.#running = true;
      let returned = false;
      this.#waiting[this.#next++]!(nowMs, (doneMs) => {
        this.#running = false;
        if (returned) this.#run(doneMs);
        else nowMs = doneMs;
      });
      returned = true;
    }
    if (this.#next < this.#waiting.length) return;
    this.#waiting = [];
    this.#next = 0;
  }
}
