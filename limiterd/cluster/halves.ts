/**
 * The two halves of a sliding window, as hosts tell them to each other: numbered by
 * floor(time ÷ period), since each host knows the time by a clock of its own. The estimate is in
 * `counters/window.ts`.
 */

/** What `window` counts so far, and what the one before it did. */
export interface Halves {
  readonly window: number;
  readonly current: number;
  readonly previous: number;
}

/** Counts stop at 2^53 − 1, which is above every cap. */
export function addCount(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

/**
 * As they count in `window`: one window on, current has become previous; later than that, both are
 * 0. In an earlier window, for clocks differ and are set back, all of it counts as current: too
 * much rather than too little.
 */
export function rollHalves({ window: own, current, previous }: Halves, window: number): Halves {
  if (own === window) return { window, current, previous };
  if (own > window) return { window, current: addCount(current, previous), previous: 0 };
  return { window, current: 0, previous: own === window - 1 ? current : 0 };
}
