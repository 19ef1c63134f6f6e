/**
 * Reports this proxy's settings to the daemon once, for the audit log. Repeats the report until the
 * daemon has stored or rejected it.
 */
import type { SettingsReport } from "../../shared/wire/settings-report.js";
import type { Limiter } from "./client/limiter-client.js";

interface ReportPorts {
  readonly limiter: Pick<Limiter, "call" | "reachable">;
  /** Runs `run` after `ms`, unless the returned function is called before. */
  setTimer(ms: number, run: () => void): () => void;
}

const againMs = 5_000;

export function reportSettings(
  { limiter, setTimer }: ReportPorts,
  { startedUpMs, file, settings }: SettingsReport,
): { stop(): void } {
  let isStopped = false;
  let cancel = (): void => {};
  const scheduleNext = (): void => {
    if (!isStopped) cancel = setTimer(againMs, () => void report());
  };
  const report = async (): Promise<void> => {
    if (!limiter.reachable) return scheduleNext();
    const body = { started_up_ms: startedUpMs, file, settings };
    const answer = await limiter.call("configuration.report", body);
    if (!answer.ok && answer.failure.code === "limiter_unavailable") scheduleNext();
  };
  void report();
  return {
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
