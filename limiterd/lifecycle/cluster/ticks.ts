/**
 * One timer for all that a host does every second or so: what it asks the engine then travels
 * together, and the process wakes once.
 */

/** Every period is a multiple of it. */
export const tickMs = 500;

interface Ticks {
  /** Runs `run` every `ms`, at the same moments as all else; returns what ends it. */
  every(ms: number, run: () => void): () => void;
  /** Resolved at the next of these moments. */
  next(ms: number): Promise<void>;
}

/** `begin` runs its argument every `tickMs`, and returns what ends that. */
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
