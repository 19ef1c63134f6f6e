/**
 * Signals that come twice though they were sent once. Ctrl-C at a terminal reaches every process of
 * a command, and npm (`npm start`) hands it to its script once more; the second one isn't somebody
 * who has lost patience. Pure.
 */
import type { Environment } from "../../shared/config/environment.js";

interface Signal {
  readonly name: string;
  readonly atMonoMs: number;
}

/** npm sends it on within milliseconds; on a busy machine that may take a while. */
const echoMs = 500;

/** Whether a signal is the one before once more. npm sets this variable for its scripts. */
export function isEchoed(previous: Signal | null, signal: Signal, env: Environment): boolean {
  return (
    env["npm_lifecycle_event"] !== undefined &&
    previous?.name === signal.name &&
    signal.atMonoMs - previous.atMonoMs < echoMs
  );
}
