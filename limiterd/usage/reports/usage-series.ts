/** How the largest groups of a report went over time, and the sum of all others. Pure. */
import type { UsageGroup, UsageSeries } from "../../../shared/api/usage-report.js";
import { seriesGroupsMax } from "../../../shared/bounds.js";
import { sumUsd } from "../../../shared/domain/money.js";
import { dayMs, dayOf, formatSeconds } from "../../../shared/time.js";
import { addRollup, emptyRollup, isEmptyRollup, type ReadRollup, type Rollup } from "../rollup.js";
import { spanOf, type UsageSplit, type UsageWindow } from "../usage-query.js";
import { addTo, differenceOfSums, type Group, restGroup } from "./usage-groups.js";

const hourMs = 3_600_000;

interface SeriesOptions {
  readonly window: Omit<UsageWindow, "userPath">;
  readonly step: Exclude<UsageSplit["step"], null>;
  readonly nowMs: number;
}

export class SeriesSums {
  readonly #groups: readonly Group[];
  readonly #options: SeriesOptions;
  /** By group, then by time. */
  readonly #parts: ReadonlyMap<string, Map<string, Rollup>>;
  /** By time. */
  #totals: ReadonlyMap<string, Rollup>;
  /** The sums that `add` got, by time. */
  readonly #added = new Map<string, Rollup>();

  /** `groups`: the largest first. */
  constructor(groups: readonly Group[], options: SeriesOptions) {
    this.#groups = groups.filter(([name]) => name !== restGroup).slice(0, seriesGroupsMax);
    this.#options = options;
    this.#parts = new Map(this.#groups.map(([name]) => [name, new Map()]));
    this.#totals = this.#added;
  }

  get names(): readonly string[] {
    return this.#groups.map(([name]) => name);
  }

  /** Adds a sum to the groups that it is in, at its day or hour. */
  readonly add = (names: readonly string[], sum: Rollup, time: string): void => {
    addTo(this.#added, time, sum);
    for (const name of names) {
      const part = this.#parts.get(name);
      if (part !== undefined) addTo(part, time, sum);
    }
  };

  /** Sets the totals by time. Without this call they are the sums that `add` got. */
  setTotals(totals: ReadonlyMap<string, Rollup>): void {
    this.#totals = totals;
  }

  timeOf(atMs: number): string {
    return this.#options.step === "day" ? dayOf(atMs) : formatSeconds(atMs - (atMs % hourMs));
  }

  item(nameOf: (group: Group) => Pick<UsageGroup, "name">): UsageSeries {
    const times = this.#times();
    const rest = times.map((time) => {
      const shownSum = emptyRollup();
      for (const part of this.#parts.values()) {
        const sum = part.get(time);
        if (sum !== undefined) addRollup(shownSum, sum);
      }
      return differenceOfSums(this.#totals.get(time) ?? emptyRollup(), shownSum);
    });
    const groups = this.#groups.map((group) => {
      const part = this.#parts.get(group[0])!;
      const sums = times.map((time) => part.get(time) ?? emptyRollup());
      return { key: group[0], ...nameOf(group), ...figures(sums) };
    });
    return {
      step: this.#options.step,
      times,
      groups: rest.every(isEmptyRollup)
        ? groups
        : [...groups, { key: restGroup, ...figures(rest) }],
    };
  }

  /** The days or hours of the window until now. */
  #times(): readonly string[] {
    const { window, step, nowMs } = this.#options;
    const { fromMs, beforeMs } = spanOf(window);
    const endMs = Math.min(beforeMs, nowMs + 1);
    const stepMs = step === "day" ? dayMs : hourMs;
    const firstMs = fromMs - (fromMs % stepMs);
    const count = Math.max(0, Math.ceil((endMs - firstMs) / stepMs));
    return Array.from({ length: count }, (_, i) => this.timeOf(firstMs + i * stepMs));
  }
}

function figures(sums: readonly ReadRollup[]) {
  return {
    requests: sums.map(({ requests }) => requests),
    total_tokens: sums.map(({ inputTokens, outputTokens }) => inputTokens + outputTokens),
    total_cost: sums.map(({ totalCost }) => sumUsd(totalCost)),
  };
}
