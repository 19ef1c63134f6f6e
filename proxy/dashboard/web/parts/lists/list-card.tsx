/** A card with a list of the gateway: its table, the link to the next page, or why it is empty. */
import { useLayoutEffect, useState } from "preact/hooks";
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
  /** Whether rows arrive continuously, so that a reader may want to hold the list. */
  readonly isLive?: boolean;
}

export function ListCard<Page extends { readonly next: string | null }, Row>({
  list,
  rowsOf,
  isLive = false,
  ...table
}: ListCardProps<Page, Row>) {
  const { query } = useApp().router.place.value;
  const { held, hold, release } = useHeldPage(list, filtersIn(query));
  return (
    <Card>
      <WhenReady polled={list.polled} onRetry={() => list.refresh()}>
        {(latest) => {
          const page = held?.page ?? latest;
          const rows = rowsOf(page);
          const isHeld = page !== latest;
          return (
            <>
              {isLive && (
                <div class="live-bar">
                  <button
                    type="button"
                    class="button ghost"
                    aria-pressed={held !== null}
                    onClick={held === null ? hold : release}
                  >
                    <Icon name={held === null ? "pause" : "play"} />
                    {shellTexts.live.pause}
                  </button>
                  {isHeld && (
                    <NewRows count={newRows(rows, rowsOf(latest), table.keyOf)} onShow={hold} />
                  )}
                </div>
              )}
              <TableOrEmpty {...table} rows={rows} />
              <Paging
                rows={rows.length}
                next={page.next}
                heardMs={held?.heardMs ?? list.polled.heardMs}
              />
            </>
          );
        }}
      </WhenReady>
    </Card>
  );
}

interface HeldPage<Page> {
  /** The page that is held; null until the first answer with these filters. */
  readonly page: Page | null;
  readonly heardMs: number;
  readonly filters: string;
}

/** Holds the page that is shown. Other filters, or another page of the list, release it. */
function useHeldPage<Page>({ polled }: ListPoll<Page>, filters: string) {
  const [held, setHeld] = useState<HeldPage<Page> | null>(null);
  const isHeld = held?.filters === filters;
  const hold = (): void => {
    // Before the first answer, the rows are those of the previous filters.
    const page = polled.heardMs === 0 ? null : polled.body;
    setHeld({ page, heardMs: polled.heardMs, filters });
  };
  useLayoutEffect(() => {
    if (isHeld && held.page === null && polled.heardMs > 0) hold();
  });
  return { held: isHeld ? held : null, hold, release: () => setHeld(null) };
}

/** The filters of the query, without the order: sorting only reorders the rows of this page. */
function filtersIn(query: URLSearchParams): string {
  const filters = new URLSearchParams(query);
  filters.delete("sort");
  return String(filters);
}

/** How many rows have arrived while the list is held. The list stays held after they are shown. */
function NewRows({ count, onShow }: { readonly count: string; readonly onShow: () => void }) {
  return count === "0" ? null : (
    <button type="button" class="button" onClick={onShow}>
      {shellTexts.live.news(count)}
    </button>
  );
}

interface TableOrEmptyProps<Row> extends TableProps<Row> {
  readonly icon: IconName;
  /** The text of an empty list. */
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
