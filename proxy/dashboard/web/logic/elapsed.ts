/** The elapsed share of a budget's period. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";

/** By the daemon's clock, from 0 to 1. */
export function elapsedOf(
  { period_start, period_end }: Pick<BudgetItem, "period_start" | "period_end">,
  now: string,
): number {
  const start = Date.parse(period_start);
  // A rolling period ends now, perhaps in the second in which it was reset.
  const length = Math.max(1, Date.parse(period_end) - start);
  return Math.min(1, Math.max(0, (Date.parse(now) - start) / length));
}
