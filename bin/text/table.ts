/**
 * Draws tables and lists of fields in plain text, within the width of a terminal; what is in a cell
 * stays in its column. Pure.
 */

import { escapeInLine } from "../../shared/logging/escape-controls.js";
import { greatest } from "../../shared/long-lists.js";
import { displayWidth, shortenTo, wrapTo } from "./display-width.js";
import { paint, type Tone } from "./tone.js";

export interface Column<Row> {
  readonly title: string;
  readonly align: "left" | "right";
  readonly text: (row: Row) => string;
  /** Left out first where a table is wider than the terminal. */
  readonly detail?: boolean;
  /** Sentences, which take several lines where there is no room for one. */
  readonly wraps?: boolean;
  /** The colour of a cell that warns. */
  readonly tone?: (row: Row) => Tone | null;
}

/** Where a table is shown. */
export interface TableView {
  /** The width of the terminal; null: the table is as wide as it needs. */
  readonly width: number | null;
  readonly colour: boolean;
  /** Each row is one line, and nothing says what is left out. */
  readonly isScreen?: boolean;
}

/** For files, pipes and programs. */
export const plainView: TableView = { width: null, colour: false };

const gap = 2;
/** Narrower columns tell nothing. */
const sentenceMin = 30;
const cellMin = 12;

/**
 * A table: titles, then rows; columns two spaces apart, no trailing spaces. One that is too wide
 * leaves out columns of details, breaks sentences into lines and shortens the longest cells; its
 * last line says so. Columns without a value are left out first.
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  view: TableView = plainView,
): string {
  const all = columns.map((column): DrawnColumn => {
    const cells = rows.map((row) => escapeInLine(column.text(row)));
    const tones = rows.map((row) => (view.colour ? (column.tone?.(row) ?? null) : null));
    const width = greatest([column.title, ...cells].map(displayWidth));
    const { title, align, detail = false } = column;
    const wraps = column.wraps === true && view.isScreen !== true;
    return { title, align, detail, wraps, cells, tones, width };
  });
  const { shown, note } = fit(all, view.width);
  const title = (column: DrawnColumn): Line => [column.title, null];
  const lines = [
    drawLine(shown, title),
    ...rows.flatMap((_, row) => {
      const pieces = shown.map((column) => wrapOrShorten(column, column.cells[row] ?? ""));
      return Array.from(
        {
          length: greatest(
            pieces.map(({ length }) => length),
            1,
          ),
        },
        (_, line) =>
          drawLine(shown, (column, index) => [
            pieces[index]?.[line] ?? "",
            column.tones[row] ?? null,
          ]),
      );
    }),
  ];
  return (view.isScreen === true ? lines : [...lines, ...note]).join("\n");
}

interface DrawnColumn
  extends Required<Pick<Column<unknown>, "title" | "align" | "detail" | "wraps">> {
  readonly cells: readonly string[];
  readonly tones: readonly (Tone | null)[];
  readonly width: number;
}

type Line = readonly [text: string, tone: Tone | null];

/** The columns that fit with their widths, and lines about what the reader misses. */
function fit(
  all: readonly DrawnColumn[],
  room: number | null,
): { readonly shown: readonly DrawnColumn[]; readonly note: readonly string[] } {
  const least = ({ wraps, width }: DrawnColumn): number =>
    wraps ? Math.min(width, sentenceMin) : width;
  const needed = (
    columns: readonly DrawnColumn[],
    columnWidth: (column: DrawnColumn) => number,
  ): number => columns.reduce((sum, column) => sum + columnWidth(column) + gap, -gap);
  if (room === null || needed(all, ({ width }) => width) <= room) return { shown: all, note: [] };
  let visible = all.filter(({ cells }) => cells.some((cell) => cell !== "-" && cell !== ""));
  const dropped: string[] = [];
  for (const column of all.toReversed()) {
    if (needed(visible, least) <= room) break;
    if (!column.detail) continue;
    visible = visible.filter((shown) => shown !== column);
    dropped.unshift(column.title);
  }
  const widths = new Map(visible.map((column) => [column, least(column)]));
  const widthOf = (column: DrawnColumn): number => widths.get(column) ?? column.width;
  for (let excess = needed(visible, widthOf) - room; excess > 0; excess--) {
    const [longest] = visible
      .filter((column) => !column.wraps && column.align === "left" && widthOf(column) > cellMin)
      .toSorted((a, b) => widthOf(b) - widthOf(a));
    if (longest === undefined) break;
    widths.set(longest, widthOf(longest) - 1);
  }
  const isShortened = visible.some((column) => !column.wraps && widthOf(column) < column.width);
  const sentence = visible.find(({ wraps }) => wraps);
  if (sentence !== undefined) {
    const spare = Math.max(0, room - needed(visible, widthOf));
    widths.set(sentence, Math.min(sentence.width, widthOf(sentence) + spare));
  }
  const missed = [...dropped, ...(isShortened ? ["whole names"] : [])];
  return {
    shown: visible.map((column) => ({ ...column, width: widthOf(column) })),
    note: missed.length === 0 ? [] : wrapTo(`(--wide also shows ${missed.join(", ")})`, room),
  };
}

function wrapOrShorten({ wraps, width }: DrawnColumn, cell: string): readonly string[] {
  return wraps ? wrapTo(cell, width) : [shortenTo(cell, width)];
}

function drawLine(
  columns: readonly DrawnColumn[],
  lineOf: (column: DrawnColumn, index: number) => Line,
): string {
  return columns
    .map((column, index) => {
      const [text, tone] = lineOf(column, index);
      const space = " ".repeat(Math.max(0, column.width - displayWidth(text)));
      const painted = tone === null || text === "" ? text : paint(text, tone);
      return column.align === "right" ? space + painted : painted + space;
    })
    .join(" ".repeat(gap))
    .trimEnd();
}

/** Sentences beside a table, in lines as wide as the terminal. */
export function renderSentence(text: string, { width }: TableView): string {
  return (width === null ? [text] : wrapTo(text, width)).join("\n");
}

/** A list of names and values: indented, the values in one column. */
export function renderFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const widest = greatest(
    fields.map(([name]) => displayWidth(name)),
    0,
  );
  return fields
    .map(([name, value]) => {
      const space = " ".repeat(widest - displayWidth(name));
      return `  ${name}${space}  ${escapeInLine(value)}`.trimEnd();
    })
    .join("\n");
}
