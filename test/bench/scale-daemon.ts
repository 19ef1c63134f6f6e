/**
 * The daemon as `npm run bench:scale` runs it: the real one, in a process that also watches its own
 * event loop and memory, and whose clock can be put forward. The product itself carries none of this.
 */
import { openSync, readSync } from "node:fs";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startLimiterd } from "../../limiterd/main.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { createLog } from "../../shared/log.js";
import { serveJobs } from "./job-channel.js";

export interface WatchJob {
  /** Moves the daemon's wall clock. */
  readonly forwardMs?: number;
  /** Whether to collect garbage before memory is read; it stalls the loop, so what was watched is told without it. */
  readonly memory?: boolean;
}

/** The longest stalls since the job before. */
export interface Watched {
  /** Wall time between two turns of the loop, less the millisecond of the timer: what a peer may notice. */
  readonly stallMs: number;
  /** CPU time of the loop's thread between two turns: as above, without the time in which the machine ran somebody else. */
  readonly busyMs: number;
  /** How many turns took over 10 ms of CPU. */
  readonly turnsOver10Ms: number;
  /** The same two of the turns in which V8 wasn't amid a collection of the old generation, which it does in steps of its own. */
  readonly calmBusyMs: number;
  readonly calmTurnsOver10Ms: number;
  readonly heapBytes: number;
  readonly bufferBytes: number;
  readonly rssBytes: number;
  /** Reading the configuration, and from then until the socket was open. */
  readonly configMs: number;
  readonly startMs: number;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const [, , file] = process.argv;
let aheadMs = 0;
const begunAt = performance.now();
const loaded = loadConfig({ file, env: process.env, cwd: process.cwd(), uid: process.getuid?.() ?? 0 });
if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("\n"));
const configuredAt = performance.now();
const daemon = await startLimiterd({ config: loaded.config, log: createLog("limiterd", "warn"), nowMs: () => Date.now() + aheadMs });

const started = { configMs: configuredAt - begunAt, startMs: performance.now() - configuredAt };

const schedstat = openSync("/proc/thread-self/schedstat", "r");
const statBytes = Buffer.alloc(64);

interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly busyMs: number;
}

/** Turns shorter than this aren't remembered one by one. */
const shortBusyMs = 3;
let stallMs = 0;
let shortMost = 0;
let longTurns: Turn[] = [];
let lastAt = performance.now();
let lastBusyMs = threadBusyMs();
setInterval(() => {
  const now = performance.now();
  const busyMs = threadBusyMs();
  stallMs = Math.max(stallMs, now - lastAt - 1);
  if (busyMs - lastBusyMs > shortBusyMs) longTurns.push({ fromMs: lastAt, toMs: now, busyMs: busyMs - lastBusyMs });
  else shortMost = Math.max(shortMost, busyMs - lastBusyMs);
  lastAt = now;
  lastBusyMs = busyMs;
}, 1);

/** From when to when V8 collected the old generation: from the begin of its marking to the end of its sweep's start. */
const collections: { fromMs: number; toMs: number }[] = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { startTime, duration, detail } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } };
    const { kind } = detail;
    const open = collections.at(-1);
    if (kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL) collections.push({ fromMs: startTime, toMs: Infinity });
    else if (kind === constants.NODE_PERFORMANCE_GC_MAJOR && open?.toMs === Infinity) open.toMs = startTime + duration;
    else if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections.push({ fromMs: startTime, toMs: startTime + duration });
  }
}).observe({ entryTypes: ["gc"] });

/** What was watched since the last call. */
function takeWatched(): Pick<Watched, "stallMs" | "busyMs" | "turnsOver10Ms" | "calmBusyMs" | "calmTurnsOver10Ms"> {
  const calm = longTurns.filter((turn) => !collections.some(({ fromMs, toMs }) => turn.fromMs < toMs && turn.toMs > fromMs));
  const longest = (turns: readonly Turn[]): number => turns.reduce((most, { busyMs }) => Math.max(most, busyMs), shortMost);
  const over10Ms = (turns: readonly Turn[]): number => turns.filter(({ busyMs }) => busyMs > 10).length;
  const watched = { stallMs, busyMs: longest(longTurns), turnsOver10Ms: over10Ms(longTurns), calmBusyMs: longest(calm), calmTurnsOver10Ms: over10Ms(calm) };
  stallMs = 0;
  shortMost = 0;
  longTurns = [];
  lastAt = performance.now();
  lastBusyMs = threadBusyMs();
  return watched;
}

/** CPU time of this thread: the loop's. Read into the same bytes each time: what a watcher throws away a thousand times a second is collected on the same loop. */
function threadBusyMs(): number {
  const length = readSync(schedstat, statBytes, 0, statBytes.length, 0);
  let nanoseconds = 0;
  for (let i = 0; i < length && statBytes[i] !== 0x20; i++) nanoseconds = nanoseconds * 10 + statBytes[i]! - 0x30;
  return nanoseconds / 1e6;
}

process.on("SIGTERM", () => void daemon.stop().then(() => process.exit(0)));
serveJobs<WatchJob, Watched>(async ({ forwardMs = 0, memory = false }) => {
  aheadMs += forwardMs;
  // Collections are told of a moment later.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const seen = takeWatched();
  if (memory) {
    // Twice, with a turn between: buffers are given back after the collection that found them.
    for (let i = 0; i < 3; i++) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    takeWatched();
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { ...seen, ...started, heapBytes: heapUsed, bufferBytes: arrayBuffers, rssBytes: rss };
});
