/** A budget being edited in its dialog, and the body that saves it. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";
import type { Unpriced } from "../../../../shared/domain/budget.js";
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
  /** Of models without a price; empty: as the configuration says for all budgets. */
  readonly unpriced: Unpriced | "";
}

export function newBudget(scope: string): BudgetDraft {
  return {
    scope,
    subject: "",
    period: "monthly",
    seconds: "",
    perChild: false,
    models: "",
    amount: "",
    unpriced: "",
  };
}

export function budgetDraftOf(budget: BudgetItem): BudgetDraft {
  const { amount, unpriced = "" } = budget;
  return { ...keyDraftOf(budget, budgetPeriods), amount: String(amount), unpriced };
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
    // Left out, it would stay as it is.
    unpriced: draft.unpriced === "" ? null : draft.unpriced,
    ...(original !== null && isElsewhere(draft, original)
      ? { replaces: itemKey(original, "budget_key") }
      : {}),
  };
}
