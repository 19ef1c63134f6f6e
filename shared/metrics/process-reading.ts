/** What a process says of itself: CPU, memory, files, and how late its event loop is. */
import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";

export interface ProcessReading {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly startedAtSeconds: number;
  /** Null: this system doesn't say. */
  readonly openFiles: number | null;
  /** The quantiles asked for, then the sum of all delays and their count, in seconds. */
  readonly loopLag: readonly number[];
}

/** The timer of the measurement runs so often; what it measures holds that time. */
const resolutionMs = 20;
/** Quantiles are of at least so long: several may ask. */
const windowMsMin = 5_000;

/** Measures from now on. */
export function createProcessReading(quantiles: readonly number[]): () => Promise<ProcessReading> {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  const startedAtSeconds = Date.now() / 1000 - process.uptime();
  let windowMonoMs = performance.now();
  let lagSeconds = 0;
  let lagCount = 0;
  let last = quantiles.map(() => 0);
  const readLag = (): readonly number[] => {
    const nowMonoMs = performance.now();
    if (nowMonoMs - windowMonoMs >= windowMsMin && delays.count > 0) {
      windowMonoMs = nowMonoMs;
      last = quantiles.map((quantile) => late(delays.percentile(quantile * 100)));
      lagSeconds += late(delays.mean) * delays.count;
      lagCount += delays.count;
      delays.reset();
    }
    return [...last, lagSeconds, lagCount];
  };
  return async () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const openFiles = await readdir("/proc/self/fd").then(
      (files) => files.length,
      // Elsewhere than on Linux there is no such directory.
      () => null,
    );
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      heapBytes: heapUsed,
      startedAtSeconds,
      openFiles,
      loopLag: readLag(),
    };
  };
}

/** Of nanoseconds from one run of the timer to the next. */
function late(ns: number): number {
  return Math.max(0, ns / 1e9 - resolutionMs / 1000);
}
