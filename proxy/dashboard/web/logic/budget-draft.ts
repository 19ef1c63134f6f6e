/** A budget being edited in its dialog, and the body that saves it. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";
import {
  isElsewhere,
  itemKey,
  type KeyDraft,
  keyBody,
  keyDraftOf,
  parseAmount,
} from "./limit-draft.js";

export const budgetPeriods = ["hourly", "daily", "weekly", "monthly"] as const;

export interface BudgetDraft extends KeyDraft {
  /** US dollars as typed. */
  readonly amount: string;
}

export function newBudget(scope: string): BudgetDraft {
  return { scope, subject: "", period: "monthly", seconds: "", perChild: false, amount: "" };
}

export function budgetDraftOf(budget: BudgetItem): BudgetDraft {
  return { ...keyDraftOf(budget, budgetPeriods), amount: String(budget.amount) };
}

/** `original`: the budget being edited; null for a new one. Null if the amount isn't a number. */
export function budgetBody(
  draft: BudgetDraft,
  original: BudgetItem | null,
): Record<string, unknown> | null {
  const amount = parseAmount(draft.amount);
  if (amount === null) return null;
  return {
    ...keyBody(draft, "budget_key"),
    amount,
    ...(original !== null && isElsewhere(draft, original)
      ? { replaces: itemKey(original, "budget_key") }
      : {}),
  };
}
