/**
 * The series of a process: their numbers are in arrays, so that code with a reference to its series
 * counts without a look-up. The number of series is bounded; further sets of labels are counted
 * together, as `other`.
 */
import type { Metric } from "./metric.js";

/**
 * The values of one set of labels. A counter or gauge has one number; a histogram its buckets, the
 * count above them, and the sum; a summary its quantiles, sum and count.
 */
export interface Series {
  /** In the order of the metric's labels; an empty label is omitted. */
  readonly labels: readonly string[];
  readonly values: Float64Array;
}

export interface Family {
  readonly metric: Metric;
  readonly series: readonly Series[];
}

/** The number of Prometheus series for one set of labels. */
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

/** The maximum number of series, and how many are left. */
interface Room {
  max: number;
  left: number;
}

/** The families of one process, with a bound on series. A gauge of NaN is unknown and omitted. */
export class SeriesTable {
  readonly #families = new Map<
    Metric,
    {
      readonly series: Series[];
      readonly byLabels: Map<string, Series>;
      readonly room: Room;
    }
  >();
  #leftOut = 0;

  /** `seriesMax` includes the series `other` of each metric. */
  constructor(metrics: readonly Metric[], seriesMax: number) {
    let forAll = seriesMax;
    const common: Room = { max: 0, left: 0 };
    for (const metric of metrics) {
      const max = Math.floor(metric.share * seriesMax);
      const room = metric.share === 0 ? common : { max, left: max };
      forAll -= max;
      const isBare = metric.labels.length === 0;
      const series = isBare ? [newSeries(metric)] : [];
      this.#families.set(metric, { series, byLabels: new Map(), room });
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

  /** The number of label sets counted as `other`. */
  get leftOut(): number {
    return this.#leftOut;
  }

  families(): Family[] {
    return [...this.#families].map(([metric, { series }]) => ({
      metric,
      series: series.filter(({ values }) => !Number.isNaN(values[0])),
    }));
  }

  /** The series of a metric without labels. */
  unlabelled(metric: Metric): Series {
    return this.#families.get(metric)!.series[0]!;
  }

  /**
   * The series of these labels, which is new if they have none yet, or the series `other` if there
   * is no room. Two targets may have equal labels: two providers of one type share a model's name.
   */
  add(metric: Metric, labels: readonly string[]): Series {
    const { series, byLabels, room } = this.#families.get(metric)!;
    const existing = byLabels.get(JSON.stringify(labels));
    if (existing !== undefined) return existing;
    const lines = linesOf(metric);
    const hasRoom = room.left >= lines;
    if (hasRoom) room.left -= lines;
    else this.#leftOut++;
    const seriesLabels = hasRoom ? labels : metric.labels.map(() => "other");
    const name = JSON.stringify(seriesLabels);
    const added = byLabels.get(name) ?? newSeries(metric, seriesLabels);
    if (!byLabels.has(name)) series.push(added);
    byLabels.set(name, added);
    return added;
  }
}
