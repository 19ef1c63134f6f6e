/** The proxy, for a supervisor: systemd, a container, `sluice up`. */
import { withSecrets } from "../proxy/auth/secret-files.js";
import { prepareProxy } from "../proxy/main.js";
import { socketNames } from "../proxy/open-listeners.js";
import { proxyChannel } from "./supervisor/metrics/proxy-channel.js";
import { workerMetrics } from "./supervisor/metrics/worker-metrics.js";
import { runService } from "./supervisor/run-service.js";

// Read now: the variable is removed once the service runs.
const group = proxyChannel() ?? workerMetrics();

void runService({
  process: "proxy",
  description:
    "The proxy of Sluice: it receives model requests, asks the limiter daemon and calls the providers.",
  flags: ["config", "socket", "dataDir", "host", "port", "logLevel"],
  socketNames,
  async prepare(options) {
    const start = await prepareProxy({
      ...options,
      config: await withSecrets(options.config),
      group,
    });
    return async () => {
      const proxy = await start();
      return {
        ready: { ready: proxy.url, admin: proxy.adminUrl, open: proxy.open },
        survives: (error) => proxy.survives(error),
        health: () => ({ status: proxy.status(), stuck: null }),
        reloadFailed: () => proxy.reloadFailed(),
        stop: (options) => proxy.stop(options),
        onReplaced: () => proxy.replaced(),
      };
    };
  },
});
