/** The measurements of a process: CPU, memory, open files and event loop lag. */
import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

export interface ProcessReading {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly startedAtSeconds: number;
  /** Null if the system doesn't report it. */
  readonly openFiles: number | null;
  /** The requested quantiles, then the sum and the count of all delays, in seconds. */
  readonly loopLag: readonly number[];
}

/** The interval of the timer, which wakes the process; each measured delay includes it. */
const resolutionMs = 100;
/** Quantiles cover at least this time: several scrapers may ask. */
const windowMsMin = 5_000;

/** The lag is measured from the first reading on: a process that nobody scrapes sleeps. */
export function createProcessReading(quantiles: readonly number[]): () => Promise<ProcessReading> {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  const startedAtSeconds = Date.now() / 1000 - process.uptime();
  let windowMonoMs = performance.now();
  let lagSeconds = 0;
  let lagCount = 0;
  let last = quantiles.map(() => 0);
  const readLag = (): readonly number[] => {
    const nowMonoMs = performance.now();
    if (nowMonoMs - windowMonoMs >= windowMsMin && delays.count > 0) {
      windowMonoMs = nowMonoMs;
      last = quantiles.map((quantile) => lagFrom(delays.percentile(quantile * 100)));
      lagSeconds += lagFrom(delays.mean) * delays.count;
      lagCount += delays.count;
      delays.reset();
    }
    return [...last, lagSeconds, lagCount];
  };
  return async () => {
    delays.enable();
    const { user, system } = process.cpuUsage();
    const openFiles = await readdir("/proc/self/fd").then(
      (files) => files.length,
      // This directory exists on Linux only.
      () => null,
    );
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: residentBytes(),
      heapBytes: getHeapStatistics().used_heap_size,
      startedAtSeconds,
      openFiles,
      loopLag: readLag(),
    };
  };
}

function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    // Linux without /proc.
    return 0;
  }
}

/** The lag, from the nanoseconds between two runs of the timer. */
function lagFrom(ns: number): number {
  return Math.max(0, ns / 1e9 - resolutionMs / 1000);
}
