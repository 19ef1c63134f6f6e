/**
 * What a process sees of its own event loop and memory, for benchmarks that run a part of Sluice in
 * a process of theirs.
 */
import { openSync, readSync } from "node:fs";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The longest stalls since the time before, and memory now. */
export interface Watched {
  /**
   * Wall time between two turns of the loop, less the millisecond of the timer: what a peer may
   * notice.
   */
  readonly stallMs: number;
  /**
   * CPU time of the loop's thread between two turns: as above, without the time in which the
   * machine ran somebody else.
   */
  readonly busyMs: number;
  /** How many turns took over 10 ms of CPU. */
  readonly turnsOver10Ms: number;
  /**
   * The same two of the turns in which V8 wasn't amid a collection of the old generation, which it
   * does in steps of its own.
   */
  readonly calmBusyMs: number;
  readonly calmTurnsOver10Ms: number;
  readonly heapBytes: number;
  readonly bufferBytes: number;
  readonly rssBytes: number;
}

interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly busyMs: number;
}

/** Turns shorter than this aren't remembered one by one. */
const shortBusyMs = 3;

const schedstat = openSync("/proc/thread-self/schedstat", "r");
const statBytes = Buffer.alloc(64);

/**
 * Watches from now on. The result holds what was seen since the previous call; with `memory`,
 * garbage is collected before memory is read, which stalls the loop and so isn't reported.
 */
export function watchLoop(): (memory: boolean) => Promise<Watched> {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  let stallMs = 0;
  let shortMost = 0;
  let longTurns: Turn[] = [];
  let lastAt = performance.now();
  let lastBusyMs = threadBusyMs();
  setInterval(() => {
    const now = performance.now();
    const busyMs = threadBusyMs();
    stallMs = Math.max(stallMs, now - lastAt - 1);
    if (busyMs - lastBusyMs > shortBusyMs)
      longTurns.push({ fromMs: lastAt, toMs: now, busyMs: busyMs - lastBusyMs });
    else shortMost = Math.max(shortMost, busyMs - lastBusyMs);
    lastAt = now;
    lastBusyMs = busyMs;
  }, 1);

  /**
   * From when to when V8 collected the old generation: from the begin of its marking to the end of
   * its sweep's start.
   */
  const collections: { fromMs: number; toMs: number }[] = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { startTime, duration, detail } = entry as PerformanceEntry & {
        readonly detail: { readonly kind: number };
      };
      const { kind } = detail;
      const open = collections.at(-1);
      if (kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL)
        collections.push({ fromMs: startTime, toMs: Infinity });
      else if (kind === constants.NODE_PERFORMANCE_GC_MAJOR && open?.toMs === Infinity)
        open.toMs = startTime + duration;
      else if (kind === constants.NODE_PERFORMANCE_GC_MAJOR)
        collections.push({ fromMs: startTime, toMs: startTime + duration });
    }
  }).observe({ entryTypes: ["gc"] });

  /** What was watched since the last call. */
  function takeWatched(): Pick<
    Watched,
    "stallMs" | "busyMs" | "turnsOver10Ms" | "calmBusyMs" | "calmTurnsOver10Ms"
  > {
    const calm = longTurns.filter(
      (turn) => !collections.some(({ fromMs, toMs }) => turn.fromMs < toMs && turn.toMs > fromMs),
    );
    const longest = (turns: readonly Turn[]): number =>
      turns.reduce((most, { busyMs }) => Math.max(most, busyMs), shortMost);
    const over10Ms = (turns: readonly Turn[]): number =>
      turns.filter(({ busyMs }) => busyMs > 10).length;
    const watched = {
      stallMs,
      busyMs: longest(longTurns),
      turnsOver10Ms: over10Ms(longTurns),
      calmBusyMs: longest(calm),
      calmTurnsOver10Ms: over10Ms(calm),
    };
    stallMs = 0;
    shortMost = 0;
    longTurns = [];
    lastAt = performance.now();
    lastBusyMs = threadBusyMs();
    return watched;
  }

  return async (memory) => {
    // Collections are reported a moment later.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const seen = takeWatched();
    if (memory) {
      // More than once, with turns between: buffers are given back after the collection that found
      // them.
      for (let i = 0; i < 3; i++) {
        collectGarbage();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      takeWatched();
    }
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    return { ...seen, heapBytes: heapUsed, bufferBytes: arrayBuffers, rssBytes: rss };
  };
}

/**
 * CPU time of this thread: the loop's. Read into the same bytes each time: what a watcher throws
 * away a thousand times a second is collected on the same loop.
 */
function threadBusyMs(): number {
  const length = readSync(schedstat, statBytes, 0, statBytes.length, 0);
  let nanoseconds = 0;
  for (let i = 0; i < length && statBytes[i] !== 0x20; i++)
    nanoseconds = nanoseconds * 10 + statBytes[i]! - 0x30;
  return nanoseconds / 1e6;
}
