/** A list of the gateway's in a card: its table, the way to its next page, or why it is empty. */
import { Card, WhenReady } from "../page.js";
import { Paging } from "../paging.js";
import type { ListPoll } from "../use-poll.js";
import { TableOrEmpty, type TableOrEmptyProps } from "./table-or-empty.js";

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
