/** Tables of figures as text for a terminal. Pure. */

/** The median over the rounds of a quotient within one round, and its spread. */
export interface Ratio {
  readonly name: string;
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly unit: "×" | "µs" | "ms";
}

/** Columns in line: the first to the left, the others to the right. */
export function formatTable(
  head: readonly string[] | null,
  cells: readonly (readonly string[])[],
): string[] {
  const lines = head === null ? cells : [head, ...cells];
  const widths = lines.reduce<number[]>(
    (known, line) => line.map((cell, column) => Math.max(cell.length, known[column] ?? 0)),
    [],
  );
  return lines.map((line) =>
    `  ${line.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join("  ")}`.trimEnd(),
  );
}

/** For a page. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function milli(us: number): string {
  return (us / 1000).toFixed(us < 10_000 ? 2 : 1);
}

export function micro(us: number): string {
  return us.toFixed(1);
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** A ratio's name, its median and its spread. */
export function ratioCells({ name, median, lowest, highest, unit }: Ratio): string[] {
  const show = (value: number): string => value.toFixed(unit === "µs" ? 1 : 2);
  return [name, `${show(median)} ${unit}`, `[${show(lowest)} – ${show(highest)}]`];
}
