/** The dialogs of the page of budgets: one is open at a time. */
import type { BudgetChildList, BudgetItem } from "../../../../../shared/api/budget-item.js";
import { budgetBody, budgetDraftOf, newBudget } from "../../logic/budget-draft.js";
import { formatMoney } from "../../logic/numbers.js";
import { ChildrenDialog } from "../../parts/limits/children-dialog.js";
import { ConfirmLimits, ConfirmResetAll } from "../../parts/limits/confirm-limit.js";
import { RaiseDialog } from "../../parts/limits/raise-dialog.js";
import { Meter } from "../../parts/meter.js";
import type { Column } from "../../parts/table.js";
import { budgetsTexts as texts } from "../../texts/budgets-texts.js";
import { AnchorsDialog } from "./anchors-dialog.js";
import { BudgetDialog } from "./budget-dialog.js";

const listPath = "/admin/budgets";

export type OpenBudgetDialog =
  | { readonly kind: "add"; readonly scope: BudgetItem["scope"] }
  | { readonly kind: "edit"; readonly budget: BudgetItem }
  | { readonly kind: "raise"; readonly budget: BudgetItem }
  | { readonly kind: "reset" | "remove"; readonly budgets: readonly BudgetItem[] }
  | { readonly kind: "children"; readonly budget: BudgetItem }
  | { readonly kind: "anchors" }
  | { readonly kind: "reset-all" };

interface BudgetsDialogProps {
  readonly dialog: OpenBudgetDialog;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function BudgetsDialog({ dialog, onClose, onChanged }: BudgetsDialogProps) {
  const ends = { onClose, onDone: onChanged };
  switch (dialog.kind) {
    case "add":
      return <BudgetDialog initial={newBudget(dialog.scope)} original={null} {...ends} />;
    case "edit":
      return (
        <BudgetDialog initial={budgetDraftOf(dialog.budget)} original={dialog.budget} {...ends} />
      );
    case "raise":
      return <RaiseDialog item={dialog.budget} keyField="budget_key" path={listPath} {...ends} />;
    case "children":
      return <BudgetChildren budget={dialog.budget} onClose={onClose} />;
    case "anchors":
      return <AnchorsDialog {...ends} />;
    case "reset-all":
      return <ConfirmResetAll path={listPath} words={texts.confirmAll} {...ends} />;
    case "reset":
    case "remove":
      return (
        <ConfirmLimits
          kind={dialog.kind}
          items={dialog.budgets}
          bodyOf={(budget) => budgetBody(budgetDraftOf(budget), null)}
          keyField="budget_key"
          path={listPath}
          periods={texts.periods}
          words={dialog.kind === "reset" ? texts.confirmReset : texts.confirmDelete}
          {...ends}
        />
      );
  }
}

function BudgetChildren({
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
