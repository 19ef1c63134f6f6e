/** Wires what the dashboard needs: its files, its sessions and its live feed. */
import type { Config } from "../shared/config/config.js";
import { hashKey } from "../shared/domain/key-secret.js";
import { SignInAttempts } from "./auth/session/sign-in-attempts.js";
import { createDashboardLoader } from "./dashboard/bundle-files.js";
import { LiveFeed } from "./dashboard/live-feed.js";
import { newSessionToken, sessionMark } from "./digests.js";
import type { Gateway } from "./gateway.js";
import type { Limiter } from "./limiter/limiter.js";

export function createDashboard(
  { server: { trustedProxies } }: Pick<Config, "server">,
  limiter: Limiter,
): Pick<Gateway, "sessionKeeping" | "liveFeed" | "loadDashboard"> {
  return {
    sessionKeeping: {
      attempts: new SignInAttempts(),
      trustedProxies,
      newToken: newSessionToken,
      hashOf: hashKey,
      markOf: sessionMark,
    },
    liveFeed: new LiveFeed({
      call: (op, body) => limiter.call(op, body),
      reachable: () => limiter.reachable,
      setTimer: (ms, run) => void setTimeout(run, ms).unref(),
      monoMs: () => performance.now(),
      nowMs: () => Date.now(),
    }),
    loadDashboard: createDashboardLoader(),
  };
}
