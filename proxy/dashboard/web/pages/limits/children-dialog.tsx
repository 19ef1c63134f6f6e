/** The children of a template with their counters, the fullest first. */
import { useState } from "preact/hooks";
import type { ChildItem, ChildList, RuleItem } from "../../../../../shared/api/rule-item.js";
import { formatCount } from "../../logic/numbers.js";
import { Dialog } from "../../parts/dialog.js";
import { SearchField } from "../../parts/field.js";
import { Meter } from "../../parts/meter.js";
import { Empty, WhenReady } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { usePoll } from "../../parts/use-poll.js";
import { limitsTexts } from "../../texts/limits-texts.js";

const texts = limitsTexts.childList;
const rowsMax = 50;

export function ChildrenDialog({
  rule,
  onClose,
}: {
  readonly rule: RuleItem;
  readonly onClose: () => void;
}) {
  const [search, setSearch] = useState("");
  const asked = new URLSearchParams({
    subject: rule.subject,
    period: String(rule.period_seconds),
    limit: String(rowsMax),
    ...(search === "" ? {} : { search }),
  });
  const children = usePoll<ChildList>(`/admin/rate-limits/children?${asked}`, 5_000);
  return (
    <Dialog title={texts.title(rule.subject)} look="wide" onClose={onClose}>
      <div class="form">
        <SearchField label={limitsTexts.search} value={search} onInput={setSearch} />
        <WhenReady polled={children.state.value} onRetry={() => children.refresh()}>
          {({ children: rows, total }) =>
            rows.length === 0 ? (
              <Empty icon="children" title={texts.empty} />
            ) : (
              <>
                <p class="soft small">{texts.about(formatCount(total))}</p>
                <Table
                  caption={texts.caption}
                  columns={columnsOf(rule)}
                  rows={rows}
                  keyOf={({ subject }) => subject}
                />
              </>
            )
          }
        </WhenReady>
      </div>
    </Dialog>
  );
}

function columnsOf({ max_requests, max_tokens, period_seconds }: RuleItem): Column<ChildItem>[] {
  const columns: Column<ChildItem>[] = [
    {
      key: "child",
      head: texts.child,
      kind: "lead",
      cell: ({ subject }) => <span class="path">{subject}</span>,
    },
  ];
  if (max_requests !== undefined)
    columns.push({
      key: "requests",
      head: limitsTexts.columns.requests,
      cell: ({ requests_used, in_flight }) => (
        <Meter
          used={period_seconds === 0 ? in_flight : requests_used}
          cap={max_requests}
          format={formatCount}
        />
      ),
    });
  if (max_tokens !== undefined)
    columns.push({
      key: "tokens",
      head: limitsTexts.columns.tokens,
      cell: ({ tokens_used }) => <Meter used={tokens_used} cap={max_tokens} format={formatCount} />,
    });
  return columns;
}
