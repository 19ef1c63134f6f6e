/**
 * The deadlines of one provider's calls, watched by one timer: timers of
 * their own would cost each call more than the rest of its bookkeeping.
 */
import type { ProviderConfig } from "../../shared/config/config.js";

export interface Deadlines {
  readonly firstByteTimeoutTicks: number;
  readonly idleTimeoutTicks: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** The ticks for a deadline other than the provider's. */
  timeoutTicksFor(ms: number): number;
  watch(call: WatchedCall): void;
  unwatch(call: WatchedCall): void;
  stop(): void;
}

/**
 * The timer runs from the first call until a tick finds no calls, so a short call needs no timer of
 * its own.
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

/** A call that is watched. */
export interface WatchedCall {
  /** Ticks since the last bytes. The call sets it to 0 when bytes arrive. */
  idleTicks: number;
  /** The ticks after which the call times out; Infinity while no bytes are expected. */
  timeoutTicks: number;
  /** The call's position in the list; only the watch sets it. */
  watchIndex: number;
  onTimedOut(): void;
}

export class TimeoutWatch {
  readonly #watched: WatchedCall[] = [];

  get size(): number {
    return this.#watched.length;
  }

  add(watched: WatchedCall): void {
    watched.watchIndex = this.#watched.push(watched) - 1;
  }

  /** Does nothing for a call that isn't watched. */
  remove(watched: WatchedCall): void {
    const index = watched.watchIndex;
    if (this.#watched[index] !== watched) return;
    const last = this.#watched.pop()!;
    if (last === watched) return;
    this.#watched[index] = last;
    last.watchIndex = index;
  }

  /**
   * Counts one tick for each call. Removes the calls that have timed out, and notifies each once.
   */
  tick(): void {
    // A copy, because a callback may end other calls and begin new ones.
    for (const watched of [...this.#watched]) {
      if (++watched.idleTicks < watched.timeoutTicks) continue;
      this.remove(watched);
      watched.onTimedOut();
    }
  }
}

/**
 * The time between two ticks: at most a sixteenth of the shortest deadline and at most a second,
 * but at least 10 ms. A deadline is exceeded by less than two ticks.
 */
export function tickMsFor(firstDeadlineMs: number, secondDeadlineMs: number): number {
  const shortestMs = Math.min(firstDeadlineMs, secondDeadlineMs);
  return Math.min(1000, Math.max(10, Math.floor(shortestMs / 16)));
}

/** The ticks after which a deadline has certainly passed: the first tick may come immediately. */
export function timeoutTicksFor(deadlineMs: number, tickMs: number): number {
  return Math.ceil(deadlineMs / tickMs) + 1;
}
