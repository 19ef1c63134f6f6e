/**
 * A daemon process for tests: the real one, but its wall clock stands still until its parent sets
 * it, and it may write sums of usage more often.
 */

import { startLimiterd } from "../../../limiterd/main.js";
import { loadConfig } from "../../../shared/config/load-config.js";
import { createLog } from "../../../shared/log.js";

const [, , , file, startMs, usageFlushMs] = process.argv;
let nowMs = Number(startMs);
const loaded = loadConfig({
  file,
  env: process.env,
  cwd: process.cwd(),
  uid: process.getuid?.() ?? 0,
});
if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("\n"));
const daemon = await startLimiterd({
  config: loaded.config,
  log: createLog("limiterd", "info"),
  nowMs: () => nowMs,
  ...(usageFlushMs === undefined ? {} : { usageFlushMs: Number(usageFlushMs) }),
});
process.on("message", (message: { clock: number }) => {
  nowMs = message.clock;
  process.send?.({ clock: nowMs });
});
process.on("SIGTERM", () => void daemon.stop().then(() => process.exit(0)));
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: loaded.config.limiter.socket });
