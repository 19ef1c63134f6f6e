/** What the best gateway could do under a limit on requests, from the times of its requests. */

interface RequestLimit {
  readonly periodMs: number;
  readonly max: number;
}

/** When the last of the requests that came at these times is admitted, at the best. */
export function idealEndMs(arrivals: readonly number[], { periodMs, max }: RequestLimit): number {
  const sorted = arrivals.toSorted((a, b) => a - b);
  let nowMs = sorted[0]!;
  let windowMs = nowMs - (nowMs % periodMs);
  let [previous, current] = [0, 0];
  for (let next = 0; ; nowMs++) {
    if (nowMs >= windowMs + periodMs) {
      windowMs += periodMs;
      [previous, current] = [current, 0];
    }
    const left = windowMs + periodMs - nowMs;
    while (sorted[next]! <= nowMs && Math.floor((previous * left) / periodMs) + current < max) {
      current++;
      if (++next === sorted.length) return nowMs;
    }
  }
}
