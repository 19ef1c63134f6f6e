/** A list of the gateway's in a card: its table, the way to its next page, or why it is empty. */
import type { IconName } from "../icon.js";
import { Card, Empty, WhenReady } from "../page.js";
import { Paging } from "../paging.js";
import { type Column, Table } from "../table.js";
import type { ListPoll } from "../use-poll.js";

interface ListCardProps<Page, Row> {
  readonly list: ListPoll<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
  /** Says to a screen reader what the table is. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly icon: IconName;
  /** What stands there without rows. */
  readonly none: { readonly title: string; readonly text: string };
}

export function ListCard<Page extends { readonly next: string | null }, Row>({
  list,
  rowsOf,
  icon,
  none,
  ...table
}: ListCardProps<Page, Row>) {
  return (
    <Card>
      <WhenReady polled={list.polled} onRetry={() => list.refresh()}>
        {(page) => {
          const rows = rowsOf(page);
          return (
            <>
              {rows.length === 0 ? (
                <Empty icon={icon} title={none.title}>
                  {none.text}
                </Empty>
              ) : (
                <Table {...table} rows={rows} />
              )}
              <Paging rows={rows.length} next={page.next} heardMs={list.polled.heardMs} />
            </>
          );
        }}
      </WhenReady>
    </Card>
  );
}
