/** Series of several processes, added up: counters, and the buckets of histograms. */
import type { ReportedSeries } from "../../../shared/metrics/metrics-answer.js";

/**
 * Sets of labels per metric, so that no metric takes another's room: as many as a proxy keeps for
 * all metrics by default. Those of ended proxies are kept.
 */
const summedSeriesMax = 10_000;

export class SummedSeries {
  readonly #max: number;
  readonly #byLabels = new Map<string, ReportedSeries & { readonly 2: number[] }>();
  readonly #counts = new Map<string, number>();

  constructor(max = summedSeriesMax) {
    this.#max = max;
  }

  copy(): SummedSeries {
    const copy = new SummedSeries(Number.POSITIVE_INFINITY);
    copy.add(this.series());
    return copy;
  }

  /** Beyond the bound, new sets of labels are counted together as `other`. */
  add(series: readonly ReportedSeries[]): void {
    for (const [name, labels, values] of series) {
      const isKnown = this.#byLabels.has(keyOf(name, labels));
      const isOther = !isKnown && (this.#counts.get(name) ?? 0) >= this.#max;
      this.#addOne(name, isOther ? labels.map(() => "other") : labels, values);
    }
  }

  series(): readonly ReportedSeries[] {
    return [...this.#byLabels.values()];
  }

  #addOne(name: string, labels: readonly string[], values: readonly number[]): void {
    const key = keyOf(name, labels);
    const sums = this.#byLabels.get(key);
    if (sums === undefined) {
      this.#byLabels.set(key, [name, labels, [...values]]);
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
    // Other buckets come from another release and can't be added.
    else if (sums[2].length === values.length)
      for (const [i, value] of values.entries()) sums[2][i]! += value;
  }
}

/** Labels contain text of callers and operators: no separator is safe. */
function keyOf(name: string, labels: readonly string[]): string {
  return JSON.stringify([name, ...labels]);
}
