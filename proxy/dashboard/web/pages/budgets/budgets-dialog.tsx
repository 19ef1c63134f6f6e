/** What the page of budgets opens over itself: one dialog at a time. */
import type { BudgetItem } from "../../../../../shared/api/budget-item.js";
import { budgetDraftOf, newBudget } from "../../logic/budget-draft.js";
import { itemKey } from "../../logic/limit-draft.js";
import { Confirm } from "../../parts/confirm.js";
import { periodText } from "../../parts/limits/limit-row.js";
import { budgetsTexts as texts } from "../../texts/budgets-texts.js";
import { AnchorsDialog } from "./anchors-dialog.js";
import { BudgetDialog } from "./budget-dialog.js";

export type OpenBudgetDialog =
  | { readonly kind: "add"; readonly scope: BudgetItem["scope"] }
  | { readonly kind: "edit"; readonly budget: BudgetItem }
  | { readonly kind: "reset"; readonly budget: BudgetItem }
  | { readonly kind: "remove"; readonly budget: BudgetItem }
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
      return <BudgetDialog first={newBudget(dialog.scope)} original={null} {...ends} />;
    case "edit":
      return (
        <BudgetDialog first={budgetDraftOf(dialog.budget)} original={dialog.budget} {...ends} />
      );
    case "anchors":
      return <AnchorsDialog {...ends} />;
    case "reset-all":
      return <ConfirmResetAll {...ends} />;
    case "reset":
    case "remove":
      return <ConfirmOne kind={dialog.kind} budget={dialog.budget} {...ends} />;
  }
}

interface Ends {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ConfirmResetAll(ends: Ends) {
  const words = texts.confirmAll;
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      word="reset"
      change={{
        method: "POST",
        path: "/admin/budgets/reset",
        body: { confirmation: "reset" },
        done: words.done,
      }}
      {...ends}
    >
      {words.text}
    </Confirm>
  );
}

function ConfirmOne({
  kind,
  budget,
  ...ends
}: Ends & { readonly kind: "reset" | "remove"; readonly budget: BudgetItem }) {
  const words = kind === "reset" ? texts.confirmReset : texts.confirmDelete;
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      change={{
        method: kind === "reset" ? "POST" : "DELETE",
        path: kind === "reset" ? "/admin/budgets/reset-one" : "/admin/budgets",
        body: itemKey(budget, "budget_key"),
        done: words.done(budget.subject),
      }}
      {...ends}
    >
      {words.text(budget.subject, periodText(budget, texts.periods))}
    </Confirm>
  );
}
