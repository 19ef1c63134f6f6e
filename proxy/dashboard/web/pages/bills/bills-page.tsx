/** Bills: the newest comparison with each provider's bill, and earlier ones. */

import type {
  ReconciliationItem,
  ReconciliationPage,
} from "../../../../../shared/api/reconciliation-item.js";
import { formatPercent } from "../../../../../shared/text/percent.js";
import { hrefOf } from "../../data/router.js";
import { listPath } from "../../logic/list-page.js";
import { formatMoney } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { Paging } from "../../parts/paging.js";
import { type Column, Table } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { billsTexts as texts } from "../../texts/bills-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { BillView } from "./bill-view.js";

/** New results come once a day, and a page of them may have a megabyte. */
const everyMs = 10 * 60_000;

export function BillsPage() {
  const { query } = useApp().router.place.value;
  const path = listPath("/admin/reconciliations", query, ["provider"]);
  const list = useListPoll<ReconciliationPage>(path, { everyMs });
  return (
    <>
      <PageHead title={shellTexts.pages.bills}>{texts.about}</PageHead>
      <WhenReady polled={list.polled} onRetry={() => list.refresh()}>
        {({ reconciliations, next, server_time }) => {
          const shownBill = shownOf(reconciliations, query.get("id"));
          const earlier = reconciliations.filter((item) => !shownBill.includes(item));
          if (shownBill.length === 0)
            return (
              <Card>
                <Empty icon="bills" title={texts.none.title}>
                  {texts.none.text}
                </Empty>
              </Card>
            );
          return (
            <div class="stack">
              {shownBill.map((bill) => (
                <BillView key={bill.id} bill={bill} now={server_time} />
              ))}
              {earlier.length > 0 && (
                <Card title={texts.earlier.caption}>
                  <Table
                    caption={texts.earlier.caption}
                    columns={columnsOf(server_time)}
                    rows={earlier}
                    keyOf={({ id }) => id}
                  />
                  <Paging rows={earlier.length} next={next} heardMs={list.polled.heardMs} />
                </Card>
              )}
            </div>
          );
        }}
      </WhenReady>
    </>
  );
}

/** The comparison that the address names, or the newest one of each provider. */
function shownOf(
  items: readonly ReconciliationItem[],
  id: string | null,
): readonly ReconciliationItem[] {
  const selected = items.filter((item) => item.id === id);
  if (selected.length > 0) return selected;
  const newest = new Map<string, ReconciliationItem>();
  for (const item of items) if (!newest.has(item.provider)) newest.set(item.provider, item);
  return [...newest.values()];
}

function columnsOf(now: string): readonly Column<ReconciliationItem>[] {
  const heads = texts.earlier.columns;
  return [
    {
      key: "bill",
      head: heads.bill,
      kind: "lead",
      sortBy: ({ provider, start_date }) => `${provider} ${start_date}`,
      cell: ({ id, provider, start_date: from, end_date: to }) => (
        <a class="wrap" href={hrefOf("bills", { id })}>
          {texts.title(provider, from, to)}
        </a>
      ),
    },
    {
      key: "billed",
      head: heads.billed,
      kind: "number",
      sortBy: ({ billed_usd }) => Number(billed_usd),
      cell: ({ billed_usd }) => formatMoney(Number(billed_usd)),
    },
    {
      key: "recorded",
      head: heads.recorded,
      kind: "number",
      sortBy: ({ recorded_usd }) => Number(recorded_usd),
      cell: ({ recorded_usd }) => formatMoney(Number(recorded_usd)),
    },
    {
      key: "gap",
      head: heads.gap,
      kind: "number",
      sortBy: ({ gap_percent }) => Number(gap_percent),
      cell: ({ gap_percent }) => formatPercent(gap_percent / 100, 2),
    },
    {
      key: "time",
      head: heads.time,
      sortBy: ({ time }) => time,
      cell: ({ time }) => <Ago moment={time} now={now} />,
    },
  ];
}
