/**
 * Which of many calls have been silent for too long. All are looked at by one timer, which belongs
 * to the caller: undici's own deadlines are two timers per request, each listed for up to a second
 * after it has been cleared, and cost more than the rest of their request's bookkeeping.
 */

/** One call as the watch sees it. */
export interface Watched {
  /** How many times it was looked at without a sign of life; whoever hears one sets it to 0. */
  looks: number;
  /** At how many looks its time is up; Infinity while nothing is expected of it. */
  timeoutTicks: number;
  /** Where the watch keeps it. */
  place: number;
  onTimedOut(): void;
}

export class SilenceWatch {
  readonly #watched: Watched[] = [];

  get size(): number {
    return this.#watched.length;
  }

  add(watched: Watched): void {
    watched.place = this.#watched.push(watched) - 1;
  }

  /** Does nothing for one that isn't watched any more. */
  remove(watched: Watched): void {
    if (this.#watched[watched.place] !== watched) return;
    const last = this.#watched.pop()!;
    if (last === watched) return;
    this.#watched[watched.place] = last;
    last.place = watched.place;
  }

  /** Counts one look at each, and tells those whose time is up, once. */
  look(): void {
    for (const watched of [...this.#watched]) {
      if (++watched.looks < watched.timeoutTicks) continue;
      this.remove(watched);
      watched.onTimedOut();
    }
  }
}

/**
 * How often to look so that a deadline is missed by no more than a sixteenth of the shortest one,
 * or a second.
 */
export function lookEveryMs(deadlinesMs: readonly number[]): number {
  return Math.min(1000, Math.max(10, Math.floor(Math.min(...deadlinesMs) / 16)));
}

/** At which look a deadline has passed for sure: the first look may come at once. */
export function timeoutTicksFor(deadlineMs: number, everyMs: number): number {
  return Math.ceil(deadlineMs / everyMs) + 1;
}
