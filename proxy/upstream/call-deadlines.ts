/**
 * The deadlines of one provider's calls, watched by one timer: undici's own deadlines are two
 * timers per request, and cost more than the rest of its bookkeeping.
 */
import type { ProviderConfig } from "../../shared/config/config.js";

export interface Deadlines {
  readonly firstByteTimeoutTicks: number;
  readonly idleTimeoutTicks: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** For any other time. */
  timeoutTicksFor(ms: number): number;
  watch(call: Watched): void;
  unwatch(call: Watched): void;
  stop(): void;
}

/**
 * The timer runs from the first call until a tick finds none, so that a short call costs no timer
 * of its own.
 */
export function createDeadlines({
  firstByteTimeoutMs,
  idleTimeoutMs,
  perModel,
}: Pick<ProviderConfig, "firstByteTimeoutMs" | "idleTimeoutMs" | "perModel">): Deadlines {
  const watch = new TimeoutWatch();
  const shortestMs = perModel.reduce(
    (ms, { firstByteTimeoutMs: first, totalTimeoutMs: total }) =>
      Math.min(ms, first ?? Infinity, total ?? Infinity),
    firstByteTimeoutMs,
  );
  const tickMs = tickMsFor(shortestMs, idleTimeoutMs);
  let timer: NodeJS.Timeout | null = null;
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  return {
    firstByteTimeoutTicks: timeoutTicksFor(firstByteTimeoutMs, tickMs),
    idleTimeoutTicks: timeoutTicksFor(idleTimeoutMs, tickMs),
    firstByteTimeoutMs,
    idleTimeoutMs,
    timeoutTicksFor: (ms) => timeoutTicksFor(ms, tickMs),
    watch(call) {
      watch.add(call);
      timer ??= setInterval(() => (watch.size === 0 ? stop() : watch.tick()), tickMs).unref();
    },
    unwatch: (call) => watch.remove(call),
    stop,
  };
}

/** One call as the watch sees it. */
export interface Watched {
  /** Ticks since the last sign of life; the call sets it to 0 at each one. */
  idleTicks: number;
  /** The ticks at which it has timed out; Infinity while nothing is expected. */
  timeoutTicks: number;
  /** Its place in the watch's list; the watch's own. */
  watchIndex: number;
  onTimedOut(): void;
}

export class TimeoutWatch {
  readonly #watched: Watched[] = [];

  get size(): number {
    return this.#watched.length;
  }

  add(watched: Watched): void {
    watched.watchIndex = this.#watched.push(watched) - 1;
  }

  /** Does nothing for one that isn't watched any more. */
  remove(watched: Watched): void {
    const index = watched.watchIndex;
    if (this.#watched[index] !== watched) return;
    const last = this.#watched.pop()!;
    if (last === watched) return;
    this.#watched[index] = last;
    last.watchIndex = index;
  }

  /** Counts one tick for each; those that have timed out are removed and called, once. */
  tick(): void {
    // A copy: a callback may end other calls, and begin new ones.
    for (const watched of [...this.#watched]) {
      if (++watched.idleTicks < watched.timeoutTicks) continue;
      this.remove(watched);
      watched.onTimedOut();
    }
  }
}

/**
 * The time between two ticks, so that a deadline is exceeded by no more than a sixteenth of the
 * shortest one, or a second.
 */
export function tickMsFor(firstDeadlineMs: number, secondDeadlineMs: number): number {
  const shortestMs = Math.min(firstDeadlineMs, secondDeadlineMs);
  return Math.min(1000, Math.max(10, Math.floor(shortestMs / 16)));
}

/** The ticks after which a deadline has surely passed: the first tick may come immediately. */
export function timeoutTicksFor(deadlineMs: number, tickMs: number): number {
  return Math.ceil(deadlineMs / tickMs) + 1;
}
