/**
 * Callbacks that run after the turn of the event loop in which they come, in their order, and at
 * most so many in each turn: when thousands of streams end at once, everybody else has a turn
 * between them.
 */

/** `afterTurn` runs a callback after the present turn. */
export function createThrottledQueue(
  afterTurn: (run: () => void) => void,
  perTurn: number,
): (run: () => void) => void {
  /** Of this turn. */
  let coming: (() => void)[] = [];
  let due: (() => void)[] = [];
  let next = 0;

  function turnEnded(): void {
    const idle = due.length === 0;
    due = idle ? coming : due.concat(coming);
    coming = [];
    if (idle) runDue();
  }

  function runDue(): void {
    const end = Math.min(next + perTurn, due.length);
    while (next < end) due[next++]!();
    if (next < due.length) return afterTurn(runDue);
    due = [];
    next = 0;
  }

  return (run) => {
    coming.push(run);
    if (coming.length === 1) afterTurn(turnEnded);
  };
}

/**
 * The same for what can run at once as long as it isn't much: only what comes behind the first so
 * many of a turn waits.
 */
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
