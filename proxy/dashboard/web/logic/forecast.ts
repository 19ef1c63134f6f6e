/**
 * The forecast of a budget at the end of its period if spending continues at the same rate. Pure.
 */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";

type Period = Pick<BudgetItem, "period_start" | "period_end">;
type Spent = Period & Pick<BudgetItem, "spent" | "amount">;

type Forecast =
  /** Too little of the period has elapsed, or nothing was spent. */
  | { readonly kind: "unknown" }
  | { readonly kind: "exhausted" }
  /** Seconds from now. */
  | { readonly kind: "runs-out"; readonly inSeconds: number; readonly projected: number }
  | { readonly kind: "lasts"; readonly projected: number };

/** Before this share, a single request would dominate the forecast. */
const ratioMin = 0.02;

/** The elapsed share of the period by the daemon's clock, from 0 to 1. */
export function elapsedOf({ period_start, period_end }: Period, now: string): number {
  const start = Date.parse(period_start);
  const share = (Date.parse(now) - start) / (Date.parse(period_end) - start);
  return Math.min(1, Math.max(0, share));
}

export function forecastOf(budget: Spent, now: string): Forecast {
  const { spent, amount } = budget;
  const elapsed = elapsedOf(budget, now);
  if (spent >= amount) return { kind: "exhausted" };
  if (elapsed < ratioMin || spent <= 0) return { kind: "unknown" };
  const projected = spent / elapsed;
  if (projected < amount) return { kind: "lasts", projected };
  const seconds = (Date.parse(budget.period_end) - Date.parse(budget.period_start)) / 1000;
  const inSeconds = seconds * elapsed * (amount / spent - 1);
  return { kind: "runs-out", inSeconds, projected };
}
