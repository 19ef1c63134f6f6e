/**
 * Counts what may happen thousands of times a second, for the log: the first one is reported at
 * once, those of the seconds after it together.
 */

const intervalMs = 10_000;

/** `report` gets how many there were since it was called last. */
export function createThrottledCount(
  schedule: (ms: number, run: () => void) => void,
  report: (count: number) => void,
): () => void {
  let count = 0;
  let waiting = false;
  function reportAll(): void {
    waiting = count > 0;
    if (!waiting) return;
    report(count);
    count = 0;
    schedule(intervalMs, reportAll);
  }
  return () => {
    count++;
    if (!waiting) reportAll();
  };
}
