/** A warning about what may happen thousands of times a second: it is given once a minute. */

const againMs = 60_000;

/** Returns what says it, unless it has been said within the last minute. */
export function sayOnce(say: () => void, monoMs: () => number): () => void {
  let saidMonoMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMonoMs = monoMs();
    if (nowMonoMs - saidMonoMs < againMs) return;
    saidMonoMs = nowMonoMs;
    say();
  };
}
