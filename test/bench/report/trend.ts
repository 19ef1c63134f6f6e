/** Whether a value stays where it is over time, or grows. Pure. */

export interface Point {
  readonly atS: number;
  readonly value: number;
}

export interface Trend {
  /** The middle one of all values. */
  readonly typical: number;
  /** By how much the line through them rises from the first to the last. */
  readonly growth: number;
  readonly seconds: number;
}

/**
 * The lowest value of each stretch of so many seconds: what a garbage-collected program has after a
 * collection.
 */
export function lows(points: readonly Point[], stretchS: number): readonly Point[] {
  const lowest = new Map<number, Point>();
  for (const point of points) {
    const stretch = Math.floor(point.atS / stretchS);
    const low = lowest.get(stretch);
    if (low === undefined || point.value < low.value) lowest.set(stretch, point);
  }
  return [...lowest.values()];
}

/** By the median of the slopes between all pairs (Theil and Sen), which a few peaks don't move. */
export function trendOf(points: readonly Point[]): Trend | null {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 5) return null;
  const slopes: number[] = [];
  for (const [i, a] of points.entries())
    for (const b of points.slice(i + 1)) slopes.push((b.value - a.value) / (b.atS - a.atS));
  const seconds = last.atS - first.atS;
  return {
    typical: median(points.map(({ value }) => value)),
    growth: median(slopes) * seconds,
    seconds,
  };
}

/** Grown by more than a tenth, and by more than what is nothing for this value. */
export function isFlat({ typical, growth }: Trend, allowance: number): boolean {
  return growth <= Math.max(allowance, typical / 10);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
