/**
 * The proxy as `npm run heavy -- bench:streams` runs it: the real one, in a process that also
 * watches its own event loop and memory. The product itself carries none of this.
 */
import { prepareProxy } from "../../../proxy/main.js";
import { loadConfig } from "../../../shared/config/load-config.js";
import { createLog } from "../../../shared/log.js";
import { serveJobs } from "../measure/job-channel.js";
import { type Watched, watchLoop } from "../measure/watch-loop.js";

export interface WatchProxyJob {
  /** Whether to collect garbage before memory is read. */
  readonly memory: boolean;
}

const [, , , file] = process.argv;
const loaded = loadConfig({
  file,
  env: process.env,
  cwd: process.cwd(),
  uid: process.getuid?.() ?? 0,
});
if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("\n"));
const start = await prepareProxy({
  config: loaded.config,
  log: createLog("proxy", loaded.config.logLevel),
});
const proxy = await start();
const watch = watchLoop();

process.on("SIGTERM", () => void proxy.stop().then(() => process.exit(0)));
serveJobs<WatchProxyJob, Watched>(({ memory }) => watch(memory), proxy.url);
