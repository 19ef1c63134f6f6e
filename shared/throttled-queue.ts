/**
 * Queues that run callbacks in order, with a maximum per turn of the event loop: when thousands of
 * streams end together, other work gets its turn between them.
 */

/**
 * Returns a function that queues a callback to run after the current turn. `afterTurn` runs a
 * callback after the current turn.
 */
export function createThrottledQueue(
  afterTurn: (run: () => void) => void,
  perTurn: number,
): (run: () => void) => void {
  /** Callbacks added in this turn. */
  let added: (() => void)[] = [];
  let due: (() => void)[] = [];
  let next = 0;

  function endTurn(): void {
    const isIdle = due.length === 0;
    due = isIdle ? added : due.concat(added);
    added = [];
    if (isIdle) runDue();
  }

  function runDue(): void {
    const end = Math.min(next + perTurn, due.length);
    // A callback that throws must not stop those queued behind it.
    try {
      while (next < end) due[next++]!();
    } finally {
      if (next < due.length) afterTurn(runDue);
      else {
        due = [];
        next = 0;
      }
    }
  }

  return (run) => {
    added.push(run);
    if (added.length === 1) afterTurn(endTurn);
  };
}

/** Runs callbacks immediately, at most `perTurn` in one turn, and queues the rest. */
export function createThrottledEnds(
  afterTurn: (run: () => void) => void,
  perTurn: number,
): (run: () => void) => void {
  const throttled = createThrottledQueue(afterTurn, perTurn);
  let atOnce = 0;
  let waiting = 0;
  return (run) => {
    if (waiting > 0 || atOnce === perTurn) {
      waiting++;
      return throttled(() => {
        waiting--;
        run();
      });
    }
    if (atOnce++ === 0) afterTurn(() => (atOnce = 0));
    run();
  };
}
