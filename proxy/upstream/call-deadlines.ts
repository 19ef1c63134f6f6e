/** The deadlines of one provider's calls, and the one timer that watches all of them. */
import type { ProviderConfig } from "../../shared/config/config.js";
import { TimeoutWatch, tickMsFor, timeoutTicksFor, type Watched } from "./timeout-watch.js";

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
