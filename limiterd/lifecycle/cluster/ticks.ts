/**
 * One timer for all periodic work of a host, so that its questions to the engine are sent together
 * and the process wakes up only once.
 */

/** The interval of ticks, in ms; every period is a multiple of it. */
export const tickMs = 500;

interface Ticks {
  /**
   * Runs `run` every `ms`, in the same ticks as all other work; returns a function that stops it.
   */
  every(ms: number, run: () => void): () => void;
  /** Resolves at the next tick after `ms`. */
  next(ms: number): Promise<void>;
}

/** `begin` runs its argument every `tickMs` and returns a function that stops it. */
export function createTicks(begin: (tick: () => void) => () => void): Ticks {
  const jobs = new Set<{ readonly ticks: number; readonly run: () => void }>();
  let end: (() => void) | null = null;
  let ticks = 0;
  const tick = (): void => {
    ticks++;
    for (const job of jobs) if (ticks % job.ticks === 0) job.run();
  };
  const every: Ticks["every"] = (ms, run) => {
    const job = { ticks: Math.max(1, Math.round(ms / tickMs)), run };
    jobs.add(job);
    end ??= begin(tick);
    return () => {
      jobs.delete(job);
      if (jobs.size > 0) return;
      end?.();
      end = null;
    };
  };
  return {
    every,
    next: (ms) =>
      new Promise((resolve) => {
        const stop = every(ms, () => {
          stop();
          resolve();
        });
      }),
  };
}
