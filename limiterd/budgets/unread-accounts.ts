/**
 * The accounts of children that a start has left in the store: there may be hundreds of thousands,
 * so each is read when it is first needed (`Budget.unread`), and the others in slices once the
 * daemon answers (`lifecycle/load-unread.ts`).
 */
import { loadChild, type StoredSpend } from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";
import { splitSpendKey } from "./stored-budget.js";

/**
 * Takes an account of the store into memory, unless it has been read or charged since; false:
 * nothing counts it any more.
 */
export function loadAccount(book: BudgetBook, key: string, stored: StoredSpend): boolean {
  const { budgetId, child } = splitSpendKey(key);
  const budget = book.budgets.get(budgetId);
  // The budget doesn't exist, or has become or is no longer a template.
  if (budget === undefined || (budget.own !== null) !== (child === "")) return false;
  const account = budget.own ?? budget.children.get(child);
  if (account !== undefined && account.spends.length > 0) return true;
  // It begins anew.
  if (budget.unread === null) return false;
  if (account === undefined) loadChild(budget, child, stored);
  return true;
}

/** All are in memory. */
export function endLoading(book: BudgetBook): void {
  for (const budget of book.budgets.values()) budget.unread = null;
}
