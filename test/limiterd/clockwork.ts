/** The daemon's timers, set by hand: a test says which of them ring. */
import { startTimers, type Timers } from "../../limiterd/lifecycle/start-timers.js";
import type { TestDaemon } from "./in-memory-daemon.js";

export interface Clockwork {
  readonly timers: Timers;
  readonly log: string[];
  /** Runs every timer that is still set and has this length. */
  ring(ms: number): void;
  readonly lengths: number[];
}

export function wind(
  daemon: TestDaemon,
  flushIntervalMs: number,
  storeBytesMax: number | null = null,
): Clockwork {
  const log: string[] = [];
  const set = new Map<object, { readonly ms: number; readonly run: () => void }>();
  const add = (ms: number, run: () => void): (() => void) => {
    const key = {};
    set.set(key, { ms, run });
    return () => set.delete(key);
  };
  const timers = startTimers(
    daemon.state,
    {
      nowMs: () => daemon.nowMs,
      every: add,
      after: add,
      onBroken: (error) => log.push(error.message),
      onMissing: (proxies) => log.push(`${proxies} missing`),
      onFill: (fill) => log.push(`the store is ${fill}`),
      closeListener() {
        log.push(`closed with ${[...daemon.store.entries("windows")].length} windows on the disk`);
        return Promise.resolve();
      },
    },
    {
      flushIntervalMs,
      usageRetentionDays: 400,
      auditRetentionDays: 365,
      storeBytesMax,
      usageFlushMs: 10_000,
    },
  );
  return {
    timers,
    log,
    ring(ms) {
      for (const timer of [...set.values()]) if (timer.ms === ms) timer.run();
    },
    get lengths() {
      return [...set.values()].map(({ ms }) => ms);
    },
  };
}
