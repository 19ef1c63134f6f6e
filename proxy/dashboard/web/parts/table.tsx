/**
 * A table of rows, which becomes a list of cards on a phone. The roles are written out because
 * browsers forget a table's own when its display is changed.
 */
import type { ComponentChildren } from "preact";
import { shellTexts } from "../texts/shell-texts.js";

export interface Column<Row> {
  readonly key: string;
  /** Words at the top of the column, and before the value on a phone. Hidden if `end`. */
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `lead`: what the row is about. `number`: aligned right. `end`: buttons. */
  readonly kind?: "lead" | "number" | "end";
  /** Its order in the table's `sorting`; without, the table isn't sorted by it. */
  readonly sort?: string;
}

/** The order of the rows, which the head of a column changes. */
export interface Sorting {
  readonly by: string;
  readonly isDescending: boolean;
  choose(by: string): void;
}

export interface TableProps<Row> {
  /** Says to a screen reader what the table is. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** `continued`: it belongs to the row above; `joined`: the one below belongs to it. */
  readonly rowClass?: (row: Row) => string;
  readonly sorting?: Sorting;
}

export function Table<Row>({ caption, columns, rows, keyOf, rowClass, sorting }: TableProps<Row>) {
  return (
    <div class="table-frame">
      <table class="table" role="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ key, head, kind, sort }) => (
              <th
                key={key}
                role="columnheader"
                scope="col"
                class={kind === "number" ? kind : ""}
                aria-sort={ariaSort(sort, sorting)}
              >
                {kind === "end" ? (
                  <span class="visually-hidden">{head}</span>
                ) : sort === undefined || sorting === undefined ? (
                  head
                ) : (
                  <SortButton {...{ head, sort, sorting }} />
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={rowClass?.(row) ?? ""}>
              {columns.map(({ key, head, kind, cell }) => {
                const content = cell(row);
                return (
                  <td
                    key={key}
                    role="cell"
                    data-label={head}
                    class={`${kind ?? ""}${content === null ? " blank" : ""}`}
                  >
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ariaSort(sort: string | undefined, sorting: Sorting | undefined) {
  if (sort === undefined || sorting?.by !== sort) return undefined;
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
      <span aria-hidden="true">{isChosen ? (sorting.isDescending ? "▾" : "▴") : ""}</span>
    </button>
  );
}

/** Below a table: how many rows there are, and the way to further ones. */
export function TableFoot({ children }: { readonly children: ComponentChildren }) {
  return <div class="table-foot">{children}</div>;
}
