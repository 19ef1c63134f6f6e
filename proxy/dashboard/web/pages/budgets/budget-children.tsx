/** The children of a budget's template with what each has spent. */
import type { BudgetChildList, BudgetItem } from "../../../../../shared/api/budget-item.js";
import { formatMoney } from "../../logic/numbers.js";
import { ChildrenDialog } from "../../parts/limits/children-dialog.js";
import { Meter } from "../../parts/meter.js";
import type { Column } from "../../parts/table.js";
import { budgetsTexts as texts } from "../../texts/budgets-texts.js";

export function BudgetChildren({
  budget,
  onClose,
}: {
  readonly budget: BudgetItem;
  readonly onClose: () => void;
}) {
  const spent: Column<BudgetChildList["children"][number]> = {
    key: "spent",
    head: texts.columns.spent,
    cell: (child) => <Meter used={child.spent} cap={budget.amount} format={formatMoney} />,
  };
  return (
    <ChildrenDialog template={budget} path="/admin/budgets" columns={[spent]} onClose={onClose} />
  );
}
