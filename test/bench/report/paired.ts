/** How one of two things compares to the other, by many pairs of measurements. Pure. */
import { median } from "./report.js";

/** Ratios of values that were measured in the same turn. */
export interface Paired {
  /** Of the medians of the starts. */
  readonly median: number;
  /**
   * Where the true median of all starts is, with 95% confidence, whatever their distribution: it
   * is outside only if more than so many of them fell on one side of it by chance.
   */
  readonly sure: readonly [lower: number, upper: number];
  /** Half of all ratios are between these. */
  readonly quartiles: readonly [lower: number, upper: number];
}

/** For each start the values of its turns. */
type Starts = readonly (readonly number[])[];

export function paired(ours: Starts, theirs: Starts): Paired {
  const ratios = ours.map((turns, start) =>
    turns.map((value, turn) => value / theirs[start]![turn]!),
  );
  const ofStarts = inOrder(ratios.map(median));
  const rank = outerRank(ofStarts.length);
  const all = inOrder(ratios.flat());
  const last = all.length - 1;
  return {
    median: median(ofStarts),
    sure: [ofStarts[rank]!, ofStarts[ofStarts.length - 1 - rank]!],
    quartiles: [all[Math.floor(last / 4)]!, all[Math.ceil((last * 3) / 4)]!],
  };
}

function inOrder(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}

/**
 * How many starts lie below the interval, and as many above it. Each is below the true median or
 * above it like a coin, so the number below it is binomial; this is its normal approximation,
 * rounded to the safe side. Six are the fewest of which 95% can be said, and all in the interval.
 */
function outerRank(count: number): number {
  return Math.max(0, Math.floor((count - 1.96 * Math.sqrt(count)) / 2) - 1);
}
