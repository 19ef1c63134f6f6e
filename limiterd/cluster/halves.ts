/**
 * The two halves of a sliding window, as hosts exchange them. Windows are numbered by floor(time ÷
 * period), because each host has its own clock. The estimate is in `counters/window.ts`.
 */

/** The counts of `window` so far, and of the one before it. */
export interface Halves {
  readonly window: number;
  readonly current: number;
  readonly previous: number;
}

export const noHalves: Halves = { window: 0, current: 0, previous: 0 };

/** Counts stop at 2^53 − 1, which is above every cap. */
export function addCount(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

/**
 * Moves the halves to `window`. In the next window, `current` becomes `previous`; in later ones,
 * both are 0. In an earlier window (after the clock was set back), everything counts as current: it
 * is better to count too much than too little.
 */
export function rollHalves({ window: from, current, previous }: Halves, window: number): Halves {
  if (from === window) return { window, current, previous };
  if (from > window) return { window, current: addCount(current, previous), previous: 0 };
  return { window, current: 0, previous: from === window - 1 ? current : 0 };
}
