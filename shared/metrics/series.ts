/**
 * The series of a process: numbers in arrays of their own, so that code that has found its series
 * counts without looking anything up. However many sets of labels come, there are at most so many
 * series; further sets are counted together, as `other`.
 */
import type { Metric } from "./metric.js";

/**
 * One set of labels. Of a counter and a gauge one number; of a histogram its buckets, what is above
 * them, and the sum; of a summary its quantiles, sum and count.
 */
export interface Series {
  /** In the order of the metric's labels; an empty one is left out. */
  readonly labels: readonly string[];
  readonly values: Float64Array;
}

export interface Family {
  readonly metric: Metric;
  readonly series: readonly Series[];
}

/** How many series Prometheus makes of one set of labels. */
export function linesOf({ kind, buckets, quantiles }: Metric): number {
  if (kind === "histogram") return buckets.length + 3;
  return kind === "summary" ? quantiles.length + 2 : 1;
}

export function newSeries(metric: Metric, labels: readonly string[] = []): Series {
  const { kind, buckets, quantiles } = metric;
  const length =
    kind === "histogram" ? buckets.length + 2 : kind === "summary" ? quantiles.length + 2 : 1;
  return { labels, values: new Float64Array(length) };
}

/** Adds to a counter. */
export function count({ values }: Series, by = 1): void {
  values[0]! += by;
}

export function observe({ values }: Series, bounds: readonly number[], value: number): void {
  let bucket = 0;
  while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
  values[bucket]! += 1;
  values[bounds.length + 1]! += value;
}

/** How many series there may be, and how many of them are left. */
interface Room {
  max: number;
  left: number;
}

/** The families of one process, within a bound. A gauge that is NaN is unknown and left out. */
export class SeriesTable {
  readonly #families = new Map<
    Metric,
    { readonly series: Series[]; readonly room: Room; other: Series | null }
  >();
  #leftOut = 0;

  /** `seriesMax` holds the `other` of each metric, too. */
  constructor(metrics: readonly Metric[], seriesMax: number) {
    let forAll = seriesMax;
    const common: Room = { max: 0, left: 0 };
    for (const metric of metrics) {
      const max = Math.floor(metric.share * seriesMax);
      const room = metric.share === 0 ? common : { max, left: max };
      forAll -= max;
      const bare = metric.labels.length === 0;
      this.#families.set(metric, { series: bare ? [newSeries(metric)] : [], room, other: null });
      room.left -= linesOf(metric);
    }
    common.max = forAll;
    common.left += forAll;
  }

  /** Whether a metric has used less than half of its room. */
  isRoomy(metric: Metric): boolean {
    const { max, left } = this.#families.get(metric)!.room;
    return left > max / 2;
  }

  /** Sets of labels that are counted as `other`. */
  get leftOut(): number {
    return this.#leftOut;
  }

  families(): Family[] {
    return [...this.#families].map(([metric, { series }]) => ({
      metric,
      series: series.filter(({ values }) => !Number.isNaN(values[0])),
    }));
  }

  /** That of a metric without labels. */
  of(metric: Metric): Series {
    return this.#families.get(metric)!.series[0]!;
  }

  /** A new one for labels that have none yet; or the one for all others. */
  add(metric: Metric, labels: readonly string[]): Series {
    const family = this.#families.get(metric)!;
    const lines = linesOf(metric);
    if (family.room.left >= lines) {
      family.room.left -= lines;
      const series = newSeries(metric, labels);
      family.series.push(series);
      return series;
    }
    this.#leftOut++;
    if (family.other === null) {
      family.other = newSeries(
        metric,
        metric.labels.map(() => "other"),
      );
      family.series.push(family.other);
    }
    return family.other;
  }
}
