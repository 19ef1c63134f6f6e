/**
 * A table of rows, which becomes a list of cards on a phone. The roles are written out because
 * browsers forget a table's own when its display is changed.
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
  /** Words at the top of the column, and before the value on a phone. Hidden if `end`. */
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /**
   * `lead`: what the row is about. `number`: aligned right. `rest`: in a low row one line, cut at
   * the end of the table. `end`: buttons.
   */
  readonly kind?: "lead" | "number" | "rest" | "end";
  /** What the rows that are here are sorted by; a row without it comes last. */
  readonly by?: (row: Row) => string | number | null | undefined;
  /** Whether the first click sorts the smallest values first, not the largest. */
  readonly fromSmallest?: boolean;
  /** The column's name in the table's `sorting`, if the rows are sorted elsewhere. */
  readonly sort?: string;
  /** Shown only on a phone, beside the first column, where each row is one line. */
  readonly isBrief?: boolean;
}

/** Which rows the reader has chosen, to do one thing to all of them. */
export interface Selection<Row> {
  readonly keys: ReadonlySet<string>;
  /** Null for a row that can't be chosen; else its name. */
  readonly nameOf: (row: Row) => string | null;
  choose(rows: readonly Row[], isChosen: boolean): void;
}

export interface TableProps<Row> {
  /** Says to a screen reader what the table is. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** `continued`: it belongs to the row above; `joined`: the one below belongs to it. */
  readonly rowClass?: (row: Row) => string;
  /** If something else sorts the rows. */
  readonly sorting?: Sorting;
  /** Null if rows can't be chosen. */
  readonly selection?: Selection<Row> | null;
  /** Low rows; on a phone each is one line, which opens. */
  readonly isCompact?: boolean;
  /** Only the first rows are drawn, in the order that the reader chose. */
  readonly isBounded?: boolean;
}

/** What a browser draws at once without a pause. */
export const rowsDrawnMax = 100;

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, keyOf, rowClass, selection = null, isCompact = false } = props;
  const own = useSorting(columns);
  const [open, setOpen] = useState<string | null>(null);
  const sorting = props.sorting ?? own.sorting;
  const sorted = props.sorting === undefined ? own.sorted(props.rows) : props.rows;
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
            {columns.map(({ key, head, kind, sort, by, isBrief }) => {
              const order = sort ?? (by === undefined ? undefined : key);
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
  /** How it looks. */
  readonly look?: string;
  /** What is shown there, if it is more than the text. */
  readonly title?: string;
}

/** Text that low rows cut, and that is whole where the reader points at it. */
export function CutText({ text, look = "", title = text }: CutTextProps) {
  return (
    <span class={`wrap ${look}`} title={title}>
      {text}
    </span>
  );
}

/** On a phone there are no heads to sort by. */
function PhoneSort<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  const options = columns.flatMap(({ key, head, sort, by }): [string, string][] =>
    sort !== undefined
      ? [[sort, head]]
      : by === undefined
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

/** Below a table: how many rows there are, and the way to further ones. */
export function TableFoot({ children }: { readonly children: ComponentChildren }) {
  return <div class="table-foot">{children}</div>;
}
