/**
 * The daemon as `npm run bench:scale` runs it: the real one, in a process that also watches its own
 * event loop and memory, and whose clock can be put forward. The product itself carries none of this.
 */
import { readFileSync } from "node:fs";
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

let worst = { stallMs: 0, busyMs: 0, turnsOver10Ms: 0 };
let lastAt = performance.now();
let lastBusyMs = threadBusyMs();
setInterval(() => {
  const now = performance.now();
  const busyMs = threadBusyMs();
  worst.stallMs = Math.max(worst.stallMs, now - lastAt - 1);
  worst.busyMs = Math.max(worst.busyMs, busyMs - lastBusyMs);
  if (busyMs - lastBusyMs > 10) worst.turnsOver10Ms++;
  lastAt = now;
  lastBusyMs = busyMs;
}, 1);

/** CPU time of this thread: the loop's. */
function threadBusyMs(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]) / 1e6;
}

process.on("SIGTERM", () => void daemon.stop().then(() => process.exit(0)));
serveJobs<WatchJob, Watched>(async ({ forwardMs = 0, memory = false }) => {
  aheadMs += forwardMs;
  const seen = worst;
  if (memory) {
    // Twice, with a turn between: buffers are given back after the collection that found them.
    for (let i = 0; i < 3; i++) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  worst = { stallMs: 0, busyMs: 0, turnsOver10Ms: 0 };
  lastAt = performance.now();
  lastBusyMs = threadBusyMs();
  return { ...seen, ...started, heapBytes: heapUsed, bufferBytes: arrayBuffers, rssBytes: rss };
});
