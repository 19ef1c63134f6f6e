/** Budgets that a request meets, each with its own verdict. */
import type { ExplainedBudget } from "../../../../../shared/api/explanation.js";
import { formatDuration, formatMoney } from "../../logic/numbers.js";
import { periodText } from "../../parts/limits/limit-row.js";
import { Meter } from "../../parts/meter.js";
import { type Column, Table } from "../../parts/table.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";
import { explainTexts } from "../../texts/explain-texts.js";

const texts = explainTexts.budgets;

const columns: readonly Column<ExplainedBudget>[] = [
  {
    key: "subject",
    head: texts.subject,
    kind: "lead",
    cell: ({ subject, template }) => (
      <>
        <code>{subject}</code>
        {template !== undefined && (
          <span class="soft small"> {explainTexts.rules.of(template)}</span>
        )}
      </>
    ),
  },
  {
    key: "period",
    head: explainTexts.rules.period,
    cell: (budget) => periodText(budget, budgetsTexts.periods),
  },
  {
    key: "spent",
    head: texts.spent,
    cell: ({ spent, amount }) => <Meter used={spent} cap={amount} format={formatMoney} />,
  },
  {
    key: "verdict",
    head: explainTexts.rules.verdict,
    cell: ({ exceeded, breached, retry_after }) =>
      exceeded || breached !== undefined ? (
        <span class="bad">
          {breached === undefined ? texts.exceeded : explainTexts.rules.full(breached.join(", "))}
          {retry_after > 0 && <> · {explainTexts.rules.wait(formatDuration(retry_after))}</>}
        </span>
      ) : (
        <span class="good">{explainTexts.rules.room}</span>
      ),
  },
];

export function ExplainedBudgets({ budgets }: { readonly budgets: readonly ExplainedBudget[] }) {
  return (
    <Table
      caption={texts.caption}
      columns={columns}
      rows={budgets}
      keyOf={({ scope, subject, period_seconds }) => `${scope} ${subject} ${period_seconds}`}
    />
  );
}
