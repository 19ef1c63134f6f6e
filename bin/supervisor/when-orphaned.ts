/**
 * `npx` starts its command through a shell and passes signals to that shell alone, which ends and
 * leaves the command running. So what npm started ends with its parent.
 */
import type { Environment } from "../../shared/config/environment.js";

interface Ports {
  readonly env: Environment;
  readonly parentPid: () => number;
  /** Runs something now and then, without keeping the process alive; stops when told to. */
  readonly every: (ms: number, run: () => void) => { stop(): void };
}

const lookMs = 250;

/** Calls `stop`, once, when the process that started this one has gone, if npm has started it. */
export function whenOrphaned({ env, parentPid, every }: Ports, stop: () => void): void {
  if (env["npm_lifecycle_event"] === undefined) return;
  const parent = parentPid();
  const look = every(lookMs, () => {
    if (parentPid() === parent) return;
    look.stop();
    stop();
  });
}
