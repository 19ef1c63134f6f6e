/** Draws tables and lists of fields in plain text; what is in a cell stays in its line. Pure. */

import { escapeInLine } from "../../shared/logging/escape-controls.js";
import { greatest } from "../../shared/long-lists.js";

export interface Column<Row> {
  readonly title: string;
  readonly align: "left" | "right";
  readonly text: (row: Row) => string;
}

/** A table: titles, then rows; columns two spaces apart, no trailing spaces. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ text }) => escapeInLine(text(row)))),
  ];
  const widths = columns.map((_, index) => greatest(lines.map((line) => width(line[index] ?? ""))));
  return lines
    .map((line) =>
      columns
        .map(({ align }, index) => pad(line[index] ?? "", widths[index] ?? 0, align))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** A list of names and values: indented, the values in one column. */
export function renderFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const widest = greatest(
    fields.map(([name]) => width(name)),
    0,
  );
  return fields
    .map(([name, value]) => `  ${pad(name, widest, "left")}  ${escapeInLine(value)}`.trimEnd())
    .join("\n");
}

function pad(text: string, columns: number, align: "left" | "right"): string {
  const space = " ".repeat(columns - width(text));
  return align === "left" ? text + space : space + text;
}

function width(text: string): number {
  return [...text].length;
}
