/**
 * A table of rows, which becomes a list of cards on a phone. Roles are explicit, because browsers
 * drop a table's own roles when its display changes.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { shellTexts } from "../texts/shell-texts.js";
import { Icon } from "./icon.js";
import { FilterSelect } from "./lists/filters.js";
import { useRowFocus } from "./lists/keep-focus.js";
import { type Sorting, useSorting } from "./lists/use-sorting.js";

export interface Column<Row> {
  readonly key: string;
  /** The column's title, and the label of the value on a phone. Hidden if `kind` is `end`. */
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /**
   * `lead`: the subject of the row. `number`: aligned right. `rest`: in a compact table one line,
   * cut at the table's edge. `end`: buttons.
   */
  readonly kind?: "lead" | "number" | "rest" | "end";
  /** The value by which loaded rows are sorted; a row without a value comes last. */
  readonly sortBy?: (row: Row) => string | number | null | undefined;
  /** Whether the first click sorts the smallest values first, not the largest. */
  readonly fromSmallest?: boolean;
  /** The column's name in `sorting`, if the rows are sorted elsewhere. */
  readonly sort?: string;
  /** Shown only on a phone, beside the first column, where each row is one line. */
  readonly isBrief?: boolean;
}

/** The rows that the reader has selected, for an action on all of them. */
export interface Selection<Row> {
  readonly keys: ReadonlySet<string>;
  /** The name of a row; null if it can't be selected. */
  readonly nameOf: (row: Row) => string | null;
  choose(rows: readonly Row[], isChosen: boolean): void;
}

export interface TableProps<Row> {
  /** The title of the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /**
   * Classes of a row. `continued`: it belongs to the row above; `joined`: the row below belongs to
   * it.
   */
  readonly rowClass?: (row: Row) => string;
  /** If something else than this table sorts the rows. */
  readonly sorting?: Sorting;
  /** Null if rows can't be selected. */
  readonly selection?: Selection<Row> | null;
  /** A table of low rows. On a phone each row is one line, which opens. */
  readonly isCompact?: boolean;
  /** Draws only the first rows, in the order that the reader has chosen. */
  readonly isBounded?: boolean;
}

/** As many rows as a browser draws without a noticeable pause. */
export const rowsDrawnMax = 100;

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, keyOf, rowClass, selection = null, isCompact = false } = props;
  const tableSorting = useSorting(columns);
  const [open, setOpen] = useState<string | null>(null);
  const sorting = props.sorting ?? tableSorting.sorting;
  const sorted = props.sorting === undefined ? tableSorting.sorted(props.rows) : props.rows;
  const rows = props.isBounded ? sorted.slice(0, rowsDrawnMax) : sorted;
  const keepFocus = useRowFocus(rows.map(keyOf));
  return (
    <div class="table-frame">
      <PhoneSort columns={columns} />
      <table class={isCompact ? "table compact" : "table"} role="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== null && <ChooseAll rows={rows} keyOf={keyOf} selection={selection} />}
            {columns.map(({ key, head, kind, sort, sortBy, isBrief }) => {
              const order = sort ?? (sortBy === undefined ? undefined : key);
              return (
                <th
                  key={key}
                  role="columnheader"
                  scope="col"
                  class={isBrief ? "brief" : kind === "number" ? kind : ""}
                  aria-sort={ariaSort(order, sorting)}
                >
                  {kind === "end" ? (
                    <span class="visually-hidden">{head}</span>
                  ) : order === undefined ? (
                    head
                  ) : (
                    <SortButton {...{ head, sort: order, sorting }} />
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody role="rowgroup" {...keepFocus}>
          {rows.map((row) => {
            const rowKey = keyOf(row);
            const isOpen = rowKey === open;
            return (
              <tr
                key={rowKey}
                role="row"
                class={`${rowClass?.(row) ?? ""}${isOpen ? " open" : ""}`}
              >
                {selection !== null && <ChooseOne {...{ row, rowKey, selection }} />}
                {columns.map(({ key, head, kind, cell, isBrief }) => {
                  const content = cell(row);
                  return (
                    <td
                      key={key}
                      role="cell"
                      data-label={head}
                      class={`${kind ?? ""}${content === null ? " blank" : ""}${isBrief ? " brief" : ""}`}
                    >
                      {content}
                      {isCompact && kind === "lead" && (
                        <button
                          type="button"
                          class="fold phone-only"
                          aria-expanded={isOpen}
                          aria-label={shellTexts.more}
                          onClick={() => setOpen(isOpen ? null : rowKey)}
                        >
                          <Icon name="forward" />
                        </button>
                      )}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface CutTextProps {
  readonly text: string;
  /** A class of the style sheet. */
  readonly look?: string;
  /** The text of the tooltip, if it differs from `text`. */
  readonly title?: string;
}

/** A text that compact rows cut. The tooltip has the whole text. */
export function CutText({ text, look = "", title = text }: CutTextProps) {
  return (
    <span class={`wrap ${look}`} title={title}>
      {text}
    </span>
  );
}

/** The choice of the order on a phone, which shows no column heads. */
function PhoneSort<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  const options = columns.flatMap(({ key, head, sort, sortBy }): [string, string][] =>
    sort !== undefined
      ? [[sort, head]]
      : sortBy === undefined
        ? []
        : [
            [`-${key}`, `${head} ▾`],
            [key, `${head} ▴`],
          ],
  );
  if (options.length === 0) return null;
  return (
    <div class="phone-sort">
      <FilterSelect
        name="sort"
        label={shellTexts.sort.label}
        options={[["", shellTexts.sort.own], ...options]}
      />
    </div>
  );
}

interface ChooseAllProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly selection: Selection<Row>;
}

function ChooseAll<Row>({ rows, keyOf, selection }: ChooseAllProps<Row>) {
  const possible = rows.filter((row) => selection.nameOf(row) !== null);
  const chosen = possible.filter((row) => selection.keys.has(keyOf(row)));
  return (
    <th role="columnheader" scope="col" class="choose">
      <input
        type="checkbox"
        aria-label={shellTexts.choose.all}
        disabled={possible.length === 0}
        checked={chosen.length > 0 && chosen.length === possible.length}
        indeterminate={chosen.length > 0 && chosen.length < possible.length}
        onChange={({ currentTarget }) => selection.choose(possible, currentTarget.checked)}
      />
    </th>
  );
}

interface ChooseOneProps<Row> {
  readonly row: Row;
  readonly rowKey: string;
  readonly selection: Selection<Row>;
}

function ChooseOne<Row>({ row, rowKey, selection }: ChooseOneProps<Row>) {
  const name = selection.nameOf(row);
  return (
    <td role="cell" class="choose">
      {name !== null && (
        <input
          type="checkbox"
          aria-label={shellTexts.choose.one(name)}
          checked={selection.keys.has(rowKey)}
          onChange={({ currentTarget }) => selection.choose([row], currentTarget.checked)}
        />
      )}
    </td>
  );
}

function ariaSort(sort: string | undefined, sorting: Sorting) {
  if (sort === undefined || sorting.by !== sort) return undefined;
  return sorting.isDescending ? "descending" : "ascending";
}

interface SortButtonProps {
  readonly head: string;
  readonly sort: string;
  readonly sorting: Sorting;
}

function SortButton({ head, sort, sorting }: SortButtonProps) {
  const isChosen = sorting.by === sort;
  return (
    <button
      type="button"
      class={isChosen ? "sort chosen" : "sort"}
      title={shellTexts.sortBy(head)}
      onClick={() => sorting.choose(sort)}
    >
      {head}
      {isChosen && <span aria-hidden="true">{sorting.isDescending ? "▾" : "▴"}</span>}
    </button>
  );
}

/** The foot of a table: the number of rows, and links to further ones. */
export function TableFoot({ children }: { readonly children: ComponentChildren }) {
  return <div class="table-foot">{children}</div>;
}
