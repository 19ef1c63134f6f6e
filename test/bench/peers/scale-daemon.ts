/**
 * The daemon as `npm run heavy -- bench:scale` runs it: the real one, in a process that also
 * watches its own event loop and memory, and whose clock can be put forward. The product itself
 * carries none of this.
 */
import { startLimiterd } from "../../../limiterd/main.js";
import { loadConfig } from "../../../shared/config/load-config.js";
import { createLog } from "../../../shared/log.js";
import { serveJobs } from "../measure/job-channel.js";
import { type Watched, watchLoop } from "../measure/watch-loop.js";

export interface WatchJob {
  /** Moves the daemon's wall clock. */
  readonly forwardMs?: number;
  /** Whether to collect garbage before memory is read. */
  readonly memory?: boolean;
}

export interface WatchedDaemon extends Watched {
  /** Reading the configuration, and from then until the socket was open. */
  readonly configMs: number;
  readonly startMs: number;
}

const [, , file] = process.argv;
let aheadMs = 0;
const begunAt = performance.now();
const loaded = loadConfig({
  file,
  env: process.env,
  cwd: process.cwd(),
  uid: process.getuid?.() ?? 0,
});
if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("\n"));
const configuredAt = performance.now();
const daemon = await startLimiterd({
  config: loaded.config,
  log: createLog("limiterd", "warn"),
  nowMs: () => Date.now() + aheadMs,
});

const started = { configMs: configuredAt - begunAt, startMs: performance.now() - configuredAt };
const watch = watchLoop();

process.on("SIGTERM", () => void daemon.stop().then(() => process.exit(0)));
serveJobs<WatchJob, WatchedDaemon>(async ({ forwardMs = 0, memory = false }) => {
  aheadMs += forwardMs;
  return { ...(await watch(memory)), ...started };
});
