/** Wires the health of targets: what the log and the daemon are told of it. */

import { targetName } from "../shared/domain/target-name.js";
import type { Log } from "../shared/log.js";
import type { Gateway } from "./gateway.js";
import { providerOf } from "./gateway.js";
import { OpenTargetReport } from "./limiter/open-target-report.js";
import { healthNotices } from "./routing/health-notices.js";
import { TargetHealth } from "./routing/target-health.js";

interface HealthParts extends Pick<Gateway, "limiter" | "providers"> {
  readonly log: Log;
  readonly monoMs: () => number;
  readonly nowMs: () => number;
  readonly schedule: (ms: number, run: () => void) => void;
}

export function createTargetHealth(parts: HealthParts): TargetHealth {
  const { limiter, log, providers, monoMs, nowMs, schedule } = parts;
  const notices = healthNotices(log);
  const report = new OpenTargetReport({ limiter, open: () => sentencesOf(health), schedule });
  const health = new TargetHealth({
    monoMs,
    nowMs,
    configOf: (target) => providerOf({ providers }, target).config,
    ...notices,
    onOpened(target, why, openMs) {
      notices.onOpened(target, why, openMs);
      report.changed();
    },
    onClosed(target) {
      notices.onClosed(target);
      report.changed();
    },
  });
  return health;
}

/** Those that are left alone, each with the reason. */
function sentencesOf(health: Pick<TargetHealth, "report">): readonly string[] {
  return health
    .report()
    .filter(({ state }) => state === "open")
    .map(
      ({ target, failures, why }) =>
        `${targetName(target)}: ${why} (${failures} failures in a row)`,
    );
}
