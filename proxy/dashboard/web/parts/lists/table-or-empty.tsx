/** A table; without rows, why there is none. */
import type { IconName } from "../icon.js";
import { Empty } from "../page.js";
import { Table, type TableProps } from "../table.js";

export interface TableOrEmptyProps<Row> extends TableProps<Row> {
  readonly icon: IconName;
  /** What stands there without rows. */
  readonly none: { readonly title: string; readonly text: string };
}

export function TableOrEmpty<Row>({ icon, none, ...table }: TableOrEmptyProps<Row>) {
  if (table.rows.length > 0) return <Table {...table} />;
  return (
    <Empty icon={icon} title={none.title}>
      {none.text}
    </Empty>
  );
}
