/** The limiter daemon, for a supervisor: systemd, a container, `sluice up`. */
import { startLimiterd } from "../limiterd/main.js";
import { daemonSockets } from "../limiterd/open-sockets.js";
import { runService } from "./supervisor/run-service.js";

void runService({
  process: "limiterd",
  description:
    "The limiter daemon of Sluice: it owns every counter and serves proxies over a Unix socket.",
  flags: ["config", "socket", "dataDir", "logLevel"],
  socketNames: daemonSockets,
  prepare: async (options) => async () => {
    const limiterd = await startLimiterd(options);
    return {
      ready: { ready: options.config.limiter.socket },
      broken: limiterd.broken,
      health: () => limiterd.health(),
      stop: () => limiterd.stop(),
    };
  },
});
