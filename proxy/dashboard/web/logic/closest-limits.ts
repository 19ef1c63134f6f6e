/** The limits and budgets with the highest used share. Pure. */
import type { BudgetItem } from "../../../../shared/api/budget-item.js";
import type { RuleItem } from "../../../../shared/api/rule-item.js";
import type { WhenField } from "../../../../shared/domain/rule-hours.js";
import { budgetAmount } from "./budget-amount.js";
import { type CapKind, fullestCap, isTemplate, shareOf } from "./used-share.js";

export interface ClosestLimit {
  readonly kind: CapKind | "budget";
  readonly scope: string;
  readonly subject: string;
  readonly period_label: string;
  readonly period_seconds: number;
  /** The template's path if it is one of its children. */
  readonly template?: string;
  readonly models?: readonly string[];
  readonly when?: WhenField;
  readonly used: number;
  readonly cap: number;
  /** When a budget is spent at the present pace; null if it lasts, or nothing is known. */
  readonly exhausts_at: string | null;
}

/** Highest used share first, without unused ones and without shadow rules. */
export function closestLimits(
  { rules, budgets }: { rules: readonly RuleItem[]; budgets: readonly BudgetItem[] },
  count: number,
): readonly ClosestLimit[] {
  const all: ClosestLimit[] = [];
  for (const rule of rules) {
    const use = isTemplate(rule) || rule.mode === "shadow" ? null : fullestCap(rule);
    if (use !== null && use.used > 0) all.push({ ...nameOf(rule), ...use, exhausts_at: null });
  }
  for (const budget of budgets)
    if (!isTemplate(budget) && budget.spent > 0)
      all.push({
        ...nameOf(budget),
        kind: "budget",
        used: budget.spent,
        cap: budgetAmount(budget),
        exhausts_at: budget.forecast?.exhausts_at ?? null,
      });
  return all.sort((a, b) => shareOf(b) - shareOf(a)).slice(0, count);
}

function nameOf(item: RuleItem | BudgetItem) {
  const { scope, subject, template, period_label, period_seconds, models } = item;
  const when = "when" in item ? item.when : undefined;
  return {
    scope,
    subject,
    period_label,
    period_seconds,
    ...(template === undefined ? {} : { template }),
    ...(models === undefined ? {} : { models }),
    ...(when === undefined ? {} : { when }),
  };
}
