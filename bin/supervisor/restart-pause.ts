/**
 * When `sluice up` restarts a service process that ended, and when it gives up. Pure; the process
 * itself is in `supervised-service.ts`.
 */
import { exitCodes } from "../session/exit-code.js";

const pauseMsMin = 100;
const pauseMsMax = 5_000;
/** A service that ran this long isn't in a crash loop: its next pause is the shortest again. */
const steadyLifeMs = 10_000;

/** How a child process ended. Both are null if it couldn't be started. */
export interface ServiceExit {
  readonly code: number | null;
  readonly signal: string | null;
}

type AfterExit =
  /** The exit code says that another attempt would end the same way. */
  | { readonly kind: "give-up"; readonly exitCode: number }
  | { readonly kind: "restart"; readonly pauseMs: number };

/**
 * The pause before the next start: 100 ms, doubled up to 5 s while the service keeps dying within
 * `steadyLifeMs`. `previousPauseMs` is null before the first restart.
 */
export function restartPause(life: {
  readonly livedMs: number;
  readonly previousPauseMs: number | null;
}): number {
  if (life.livedMs >= steadyLifeMs || life.previousPauseMs === null) return pauseMsMin;
  return Math.min(life.previousPauseMs * 2, pauseMsMax);
}

/** Exit codes of a start that would fail again without a change by the operator. */
const hopelessCodes: readonly number[] = [
  exitCodes.failed,
  exitCodes.usage,
  exitCodes.storeUnreadable,
  exitCodes.taken,
  exitCodes.configuration,
];

/**
 * A service that was never ready and exited with a reason (wrong configuration, socket or port
 * taken, unreadable store) isn't restarted: the operator at the terminal can fix the cause. After a
 * crash or a signal it is restarted, and once it has been ready it is always restarted.
 */
export function afterExit(end: {
  readonly exit: ServiceExit;
  readonly wasReady: boolean;
  readonly livedMs: number;
  readonly previousPauseMs: number | null;
}): AfterExit {
  const { code } = end.exit;
  if (!end.wasReady && code !== null && hopelessCodes.includes(code))
    return { kind: "give-up", exitCode: code };
  return { kind: "restart", pauseMs: restartPause(end) };
}
