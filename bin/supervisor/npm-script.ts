/**
 * `sluice up` as an npm script (`npm start`, `npx`): npm sets a variable, sends some signals twice,
 * and may leave the process running.
 */
import type { Environment } from "../../shared/config/environment.js";

interface Signal {
  readonly name: string;
  readonly atMonoMs: number;
}

/** npm forwards a signal within milliseconds, or a little later on a busy machine. */
const echoMs = 500;

/**
 * Whether a signal duplicates the one before: Ctrl-C at a terminal reaches every process of a
 * command, and npm also sends it to its script.
 */
export function isEchoed(previous: Signal | null, signal: Signal, env: Environment): boolean {
  return (
    env["npm_lifecycle_event"] !== undefined &&
    previous?.name === signal.name &&
    signal.atMonoMs - previous.atMonoMs < echoMs
  );
}

interface ParentPorts {
  readonly env: Environment;
  readonly parentPid: () => number;
  /** Runs something at intervals, without keeping the process alive, until `stop`. */
  readonly every: (ms: number, run: () => void) => { stop(): void };
}

const pollMs = 250;

/**
 * Calls `stop`, once, when the parent process has gone: `npx` starts its command through a shell
 * and passes signals only to that shell, which ends and leaves the command running.
 */
export function onParentGone({ env, parentPid, every }: ParentPorts, stop: () => void): void {
  if (env["npm_lifecycle_event"] === undefined) return;
  const parent = parentPid();
  const poll = every(pollMs, () => {
    if (parentPid() === parent) return;
    poll.stop();
    stop();
  });
}
