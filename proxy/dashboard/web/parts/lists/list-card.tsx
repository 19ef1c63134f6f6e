/** A list of the gateway's in a card: its table, the way to its next page, or why it is empty. */

import type { IconName } from "../icon.js";
import { Card, Empty, WhenReady } from "../page.js";
import { Paging } from "../paging.js";
import { Table, type TableProps } from "../table.js";
import type { ListPoll } from "../use-poll.js";

interface ListCardProps<Page, Row> extends Omit<TableOrEmptyProps<Row>, "rows"> {
  readonly list: ListPoll<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
}

export function ListCard<Page extends { readonly next: string | null }, Row>({
  list,
  rowsOf,
  ...table
}: ListCardProps<Page, Row>) {
  return (
    <Card>
      <WhenReady polled={list.polled} onRetry={() => list.refresh()}>
        {(page) => {
          const rows = rowsOf(page);
          return (
            <>
              <TableOrEmpty {...table} rows={rows} />
              <Paging rows={rows.length} next={page.next} heardMs={list.polled.heardMs} />
            </>
          );
        }}
      </WhenReady>
    </Card>
  );
}

interface TableOrEmptyProps<Row> extends TableProps<Row> {
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
