/** A list of the gateway's in a card: its table, the way to its next page, or why it is empty. */
import { useState } from "preact/hooks";
import { newRows } from "../../logic/list-page.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { useApp } from "../app.js";
import { Icon, type IconName } from "../icon.js";
import { Card, Empty, WhenReady } from "../page.js";
import { Paging } from "../paging.js";
import { Table, type TableProps } from "../table.js";
import type { ListPoll } from "../use-poll.js";

interface ListCardProps<Page, Row> extends Omit<TableOrEmptyProps<Row>, "rows"> {
  readonly list: ListPoll<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
  /** Whether rows come by themselves, so that a reader may want them to stand still. */
  readonly isLive?: boolean;
}

export function ListCard<Page extends { readonly next: string | null }, Row>({
  list,
  rowsOf,
  isLive = false,
  ...table
}: ListCardProps<Page, Row>) {
  const query = String(useApp().router.place.value.query);
  const [held, setHeld] = useState<{ readonly page: Page; readonly query: string } | null>(null);
  return (
    <Card>
      <WhenReady polled={list.polled} onRetry={() => list.refresh()}>
        {(latest) => {
          // Other filters, or another page, are what the reader wants to see now.
          const page = held?.query === query ? held.page : latest;
          const rows = rowsOf(page);
          const isHeld = page !== latest;
          return (
            <>
              {isLive && (
                <div class="live-bar">
                  <button
                    type="button"
                    class="button ghost"
                    aria-pressed={held?.query === query}
                    onClick={() => setHeld(held?.query === query ? null : { page, query })}
                  >
                    <Icon name={held?.query === query ? "play" : "pause"} />
                    {shellTexts.live.pause}
                  </button>
                  {isHeld && (
                    <NewRows
                      count={newRows(rows, rowsOf(latest), table.keyOf)}
                      onShow={() => setHeld({ page: latest, query })}
                    />
                  )}
                </div>
              )}
              <TableOrEmpty {...table} rows={rows} />
              <Paging rows={rows.length} next={page.next} heardMs={list.polled.heardMs} />
            </>
          );
        }}
      </WhenReady>
    </Card>
  );
}

/** How many rows have come since the list stands still; it still does after they are shown. */
function NewRows({ count, onShow }: { readonly count: string; readonly onShow: () => void }) {
  return count === "0" ? null : (
    <button type="button" class="button" onClick={onShow}>
      {shellTexts.live.news(count)}
    </button>
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
