/** Where a budget's period ends if it is spent on as it was until now. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";

type Spent = Pick<BudgetItem, "spent" | "amount" | "period_ratio" | "period_start" | "period_end">;

type Forecast =
  /** Too little of the period is over, or nothing was spent. */
  | { readonly kind: "unknown" }
  | { readonly kind: "exhausted" }
  /** Seconds from now. */
  | { readonly kind: "runs-out"; readonly inSeconds: number; readonly projected: number }
  | { readonly kind: "lasts"; readonly projected: number };

/** Before that, one request would decide. */
const ratioMin = 0.02;

export function forecastOf(budget: Spent): Forecast {
  const { spent, amount, period_ratio: elapsed } = budget;
  if (spent >= amount) return { kind: "exhausted" };
  if (elapsed < ratioMin || spent <= 0) return { kind: "unknown" };
  const projected = spent / elapsed;
  if (projected < amount) return { kind: "lasts", projected };
  const seconds = (Date.parse(budget.period_end) - Date.parse(budget.period_start)) / 1000;
  const inSeconds = seconds * elapsed * (amount / spent - 1);
  return { kind: "runs-out", inSeconds, projected };
}
