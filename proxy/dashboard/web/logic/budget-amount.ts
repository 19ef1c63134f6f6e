/** The amount of a budget's running period. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";

/** The amount, with what was carried over from the last period. */
export function budgetAmount({
  amount,
  carried_over = 0,
}: Pick<BudgetItem, "amount" | "carried_over">): number {
  return amount + carried_over;
}
