/** When a part of `sluice up` that ended is started again, and when that is given up. Pure. */
import { exitCodes } from "../session/exit-code.js";

export const pauseMsMin = 100;
export const pauseMsMax = 5_000;
/** A part that lived this long isn't in a loop of crashes: its next pause is the shortest again. */
export const steadyLifeMs = 10_000;

/** How a child process ended. Both are null when it couldn't even be started. */
export interface PartExit {
  readonly code: number | null;
  readonly signal: string | null;
}

export type AfterExit =
  /** It says itself that another attempt ends the same way. */
  | { readonly kind: "give-up"; readonly exitCode: number }
  | { readonly kind: "restart"; readonly pauseMs: number };

/**
 * The pause before the next start: 100 ms, doubled up to 5 s while the part keeps dying young.
 * `previousPauseMs` is null before the first.
 */
export function restartPause(life: {
  readonly livedMs: number;
  readonly previousPauseMs: number | null;
}): number {
  if (life.livedMs >= steadyLifeMs || life.previousPauseMs === null) return pauseMsMin;
  return Math.min(life.previousPauseMs * 2, pauseMsMax);
}

const hopelessCodes: readonly number[] = [
  exitCodes.failed,
  exitCodes.usage,
  exitCodes.storeUnreadable,
  exitCodes.taken,
  exitCodes.configuration,
];

/**
 * A part that never was ready and gave a reason (wrong configuration, socket or port taken,
 * unreadable store) isn't started again: somebody sits before the terminal who can act on it.
 * Crashes and signals are no reason, and once a part has served, nothing is: it is started again
 * for ever.
 */
export function afterExit(end: {
  readonly exit: PartExit;
  readonly wasReady: boolean;
  readonly livedMs: number;
  readonly previousPauseMs: number | null;
}): AfterExit {
  const { code } = end.exit;
  if (!end.wasReady && code !== null && hopelessCodes.includes(code))
    return { kind: "give-up", exitCode: code };
  return { kind: "restart", pauseMs: restartPause(end) };
}
