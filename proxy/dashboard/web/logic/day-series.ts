/** Usage by day for a chart: every day once, including days without requests. Pure. */
import {
  dayMs,
  dayOf,
  daysBetween,
  formatMillis,
  parseDay,
  parseTimestamp,
} from "../../../../shared/time.js";

/** The fields read from a group of usage by day. */
interface DayGroup {
  /** 2026-11-23 */
  readonly key: string;
  readonly requests: number;
  readonly total_tokens: number;
  readonly total_cost: number;
}

interface Day {
  readonly day: string;
  readonly requests: number;
  readonly tokens: number;
  /** US dollars. */
  readonly cost: number;
}

export type Measure = "cost" | "tokens" | "requests";

/** Days in UTC, both inclusive. Empty if `start` or `end` isn't a day. */
export function daySeries(
  { start_date, end_date }: { readonly start_date: string; readonly end_date: string },
  groups: readonly DayGroup[],
): readonly Day[] {
  const groupsByKey = new Map(groups.map((group) => [group.key, group]));
  return daysBetween(start_date, end_date).map((day) => {
    const group = groupsByKey.get(day);
    return {
      day,
      requests: group?.requests ?? 0,
      tokens: group?.total_tokens ?? 0,
      cost: group?.total_cost ?? 0,
    };
  });
}

/** The top of an axis: the next 1, 2, 2.5 or 5 times a power of ten; 1 if all values are 0. */
export function axisTop(largest: number): number {
  if (!(largest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  for (const step of [1, 2, 2.5, 5]) if (largest <= step * power) return step * power;
  return 10 * power;
}

/** The labels below the bars. The number is odd, so that a phone can show every second one. */
const labelsMax = 5;

/**
 * Some of the times, evenly spaced: the first and the last in full, the others without the day or
 * the year that they share with the first.
 */
export function axisLabels(times: readonly string[]): readonly string[] {
  const last = times.length - 1;
  const count = last >= 2 * labelsMax ? labelsMax : Math.min(2, times.length);
  const labelled = Array.from({ length: count }, (_, i) =>
    Math.round((i * last) / Math.max(1, count - 1)),
  );
  return labelled.map((index, i) =>
    i === 0 || i === count - 1 ? times[index]! : shortened(times[index]!),
  );
}

/** `2026-11-23 14:05` → `14:05` at times of day, `2026-11-23` → `11-23`. */
function shortened(time: string): string {
  const [, clock] = time.split(" ");
  return clock ?? time.slice(5);
}

interface Period {
  readonly start_date: string;
  readonly end_date: string;
  /** Of a range with times. */
  readonly start?: string;
  readonly end?: string;
}

/** The period of the same length that ends where this one begins. */
export function periodBefore({ start_date, end_date, ...times }: Period): Record<string, string> {
  const { start, end } = times;
  if (start !== undefined && end !== undefined) {
    const [fromMs, beforeMs] = [parseTimestamp(start)!, parseTimestamp(end)!];
    return { start: formatMillis(2 * fromMs - beforeMs), end: start };
  }
  const startMs = parseDay(start_date) ?? 0;
  const days = daysBetween(start_date, end_date).length;
  return { start_date: dayOf(startMs - days * dayMs), end_date: dayOf(startMs - dayMs) };
}
