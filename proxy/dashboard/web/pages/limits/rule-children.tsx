/** The children of a rule's template with their counters. */
import type { ChildItem, RuleItem } from "../../../../../shared/api/rule-item.js";
import { formatCount } from "../../logic/numbers.js";
import { ChildrenDialog } from "../../parts/limits/children-dialog.js";
import { Meter } from "../../parts/meter.js";
import type { Column } from "../../parts/table.js";
import { limitsTexts } from "../../texts/limits-texts.js";

export function RuleChildren({
  rule,
  onClose,
}: {
  readonly rule: RuleItem;
  readonly onClose: () => void;
}) {
  return (
    <ChildrenDialog
      template={rule}
      path="/admin/rate-limits"
      columns={columnsOf(rule)}
      onClose={onClose}
    />
  );
}

function columnsOf({ max_requests, max_tokens, period_seconds }: RuleItem): Column<ChildItem>[] {
  const columns: Column<ChildItem>[] = [];
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
