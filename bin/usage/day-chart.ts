/** Draws a small chart of one number per day, in plain text. Pure. */

import { greatest } from "../../shared/long-lists.js";

interface Day {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** From 0. */
  readonly value: number;
}

interface ChartOptions {
  /** The width of the terminal. */
  readonly columns: number;
  /** Whether block characters can be shown; else dots and hashes. */
  readonly unicode: boolean;
}

interface DayChart {
  /** Lines from top to bottom, the last with the first and the last date. */
  readonly lines: readonly string[];
  /** How many days share a column: 1 where they fit side by side. */
  readonly daysPerColumn: number;
  /** The value of the highest column. */
  readonly highest: number;
}

const rows = 4;
const blocks = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const ascii = [" ", ".", ":", "#"];
const columnWidthMax = 3;

/**
 * One column per day, or per several days if there are more than fit. A day with any usage has a
 * mark, a day without has none. `days` isn't empty.
 */
export function dayChart(days: readonly Day[], options: ChartOptions): DayChart {
  const room = Math.max(1, options.columns);
  const daysPerColumn = Math.ceil(days.length / room);
  const values = gather(days, daysPerColumn);
  const highest = greatest(values);
  const width = Math.max(1, Math.min(columnWidthMax, Math.floor(room / values.length)));
  const marks = options.unicode ? blocks : ascii;
  const heights = values.map((value) => heightOf(value, highest, marks.length - 1));
  const lines = Array.from({ length: rows }, (_, fromTop) =>
    line(heights, { floor: (rows - 1 - fromTop) * (marks.length - 1), marks, width }),
  );
  return {
    lines: [...lines, axis(days, values.length * width - (width > 1 ? 1 : 0))],
    daysPerColumn,
    highest,
  };
}

function gather(days: readonly Day[], daysPerColumn: number): readonly number[] {
  const values: number[] = [];
  days.forEach(({ value }, index) => {
    const column = Math.floor(index / daysPerColumn);
    values[column] = (values[column] ?? 0) + value;
  });
  return values;
}

/** In steps of a mark, 0 to `rows` times `steps`. */
function heightOf(value: number, highest: number, steps: number): number {
  return value === 0 ? 0 : Math.max(1, Math.round((value / highest) * rows * steps));
}

function line(
  heights: readonly number[],
  {
    floor,
    marks,
    width,
  }: { readonly floor: number; readonly marks: readonly string[]; readonly width: number },
): string {
  const gap = width > 1 ? " " : "";
  return heights
    .map(
      (height) =>
        marks[Math.max(0, Math.min(marks.length - 1, height - floor))]!.repeat(width - gap.length) +
        gap,
    )
    .join("")
    .trimEnd();
}

function axis(days: readonly Day[], width: number): string {
  const first = days[0]!.date;
  const last = days.at(-1)!.date;
  if (first === last) return first;
  const space = width - first.length - last.length;
  return space > 0 ? first + " ".repeat(space) + last : `${first} to ${last}`;
}
