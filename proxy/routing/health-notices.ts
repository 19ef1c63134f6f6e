/** What the log says of targets that keep failing. */
import { targetName } from "../../shared/domain/target-name.js";
import type { Log } from "../../shared/log.js";
import type { HealthPorts } from "./target-health.js";

export function healthNotices(
  log: Pick<Log, "warn" | "info">,
): Pick<HealthPorts, "onOpened" | "onClosed" | "onRefused"> {
  return {
    onOpened: (target, why, openMs) =>
      log.warn(
        { target: targetName(target), why, open_ms: Math.round(openMs) },
        "a target keeps failing: it is left alone while another one is well",
      ),
    onClosed: (target) =>
      log.info({ target: targetName(target) }, "a target that kept failing answers again"),
    onRefused: (target, why) =>
      log.warn({ target: targetName(target), why }, "a provider refuses Sluice's key or account"),
  };
}
