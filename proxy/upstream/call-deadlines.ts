/** The deadlines of one provider's calls: one timer that looks at all of them. */
import type { ProviderConfig } from "../../shared/config/config.js";
import { lookEveryMs, SilenceWatch, timeoutTicksFor, type Watched } from "./timeout-watch.js";

/** How long the calls of one provider may be silent, and who watches them. */
export interface Deadlines {
  readonly firstByte: number;
  readonly idle: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** For any other time. */
  timeoutTicksFor(ms: number): number;
  watch(call: Watched): void;
  unwatch(call: Watched): void;
  stop(): void;
}

/**
 * The timer runs from the first call until a look finds none, so that a quick call costs none of
 * its own.
 */
export function createDeadlines({ firstByteTimeoutMs, idleTimeoutMs }: ProviderConfig): Deadlines {
  const watch = new SilenceWatch();
  const everyMs = lookEveryMs([firstByteTimeoutMs, idleTimeoutMs]);
  let timer: NodeJS.Timeout | null = null;
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  return {
    firstByte: timeoutTicksFor(firstByteTimeoutMs, everyMs),
    idle: timeoutTicksFor(idleTimeoutMs, everyMs),
    firstByteTimeoutMs,
    idleTimeoutMs,
    timeoutTicksFor: (ms) => timeoutTicksFor(ms, everyMs),
    watch(call) {
      watch.add(call);
      timer ??= setInterval(() => (watch.size === 0 ? stop() : watch.look()), everyMs).unref();
    },
    unwatch: (call) => watch.remove(call),
    stop,
  };
}
