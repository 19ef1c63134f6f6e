/**
 * A table of rows, which becomes a list of cards on a phone. The roles are written out because
 * browsers forget a table's own when its display is changed.
 */
import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly key: string;
  /** Words at the top of the column, and before the value on a phone. Hidden if `end`. */
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `lead`: what the row is about. `number`: aligned right. `end`: buttons. */
  readonly kind?: "lead" | "number" | "end";
}

export interface TableProps<Row> {
  /** Says to a screen reader what the table is. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** `continued`: it belongs to the row above; `joined`: the one below belongs to it. */
  readonly rowClass?: (row: Row) => string;
}

export function Table<Row>({ caption, columns, rows, keyOf, rowClass }: TableProps<Row>) {
  return (
    <div class="table-frame">
      <table class="table" role="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ key, head, kind }) => (
              <th key={key} role="columnheader" scope="col" class={kind === "number" ? kind : ""}>
                {kind === "end" ? <span class="visually-hidden">{head}</span> : head}
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

/** Below a table: how many rows there are, and the way to further ones. */
export function TableFoot({ children }: { readonly children: ComponentChildren }) {
  return <div class="table-foot">{children}</div>;
}
