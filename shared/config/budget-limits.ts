/**
 * The limits of one budget subject as the file and the environment write them: `{period or
 * period_seconds, amount}`, or `daily=10, weekly=50` (CONTRACT sections 8 and 9). The rules for single
 * values are those of the admin API and stand in `../budget.ts`.
 */
import { type BudgetDefinition, budgetId, budgetName, budgetPeriodNames, namedBudgetPeriod, parseAmount, parseBudgetPeriod } from "../budget.js";
import { show } from "../rule.js";
import { nameHint } from "./closest-name.js";
import type { Mapping } from "./read-mapping.js";
import { amountOf } from "./setting-kind.js";

export const budgetLimitKeys = ["period", "period_seconds", "amount"] as const;

export interface BudgetLimit {
  readonly periodSeconds: number;
  readonly amountUsd: number;
}

/** A budget and the place that declares it. */
export interface PlacedBudget {
  readonly budget: BudgetDefinition;
  readonly at: string;
}

/** Checks one limit. Every wrong field is told, not just the first; null when there was one. */
export function parseBudgetLimit(fields: Mapping, at: string, problems: string[]): BudgetLimit | null {
  const period = parseBudgetPeriod(fields, `${at}.`);
  const amount = parseAmount(fields["amount"], `${at}.amount`);
  if (!period.ok) problems.push(period.failure.message);
  if (!amount.ok) problems.push(amount.failure.message);
  return period.ok && amount.ok ? { periodSeconds: period.value, amountUsd: amount.value } : null;
}

/**
 * Parses a compact list. Pairs are separated by commas, semicolons or newlines; `name=value` and
 * `name:value` are the same; names come in any case; of two for one period the last wins. Limits come
 * shortest period first. A blank text has none. Problems name `variable`.
 */
export function parseCompactBudgets(text: string, variable: string, problems: string[]): readonly BudgetLimit[] {
  const byPeriod = new Map<number, number>();
  for (const piece of text.split(/[,;\n]/)) {
    const pair = piece.trim();
    if (pair === "") continue;
    const separator = pair.search(/[=:]/);
    if (separator < 0) {
      problems.push(`${variable} must hold pairs such as daily=10, not ${show(pair)}`);
      continue;
    }
    const name = pair.slice(0, separator).trim();
    const periodSeconds = namedBudgetPeriod(name);
    if (periodSeconds === undefined) {
      problems.push(`${variable} holds the unknown key ${show(name)}${nameHint(name, budgetPeriodNames)}`);
      continue;
    }
    const value = pair.slice(separator + 1).trim();
    const amount = parseAmount(amountOf(value) ?? value, `${variable}: ${name.toLowerCase()}`);
    if (amount.ok) byPeriod.set(periodSeconds, amount.value);
    else problems.push(amount.failure.message);
  }
  return [...byPeriod].sort(([a], [b]) => a - b).map(([periodSeconds, amountUsd]) => ({ periodSeconds, amountUsd }));
}

/** Budgets of one identity that are declared in two places: the second would silently replace the first. */
export function duplicateBudgets(budgets: readonly PlacedBudget[]): readonly string[] {
  const first = new Map<string, string>();
  const problems: string[] = [];
  for (const { budget, at } of budgets) {
    const earlier = first.get(budgetId(budget));
    if (earlier === undefined) first.set(budgetId(budget), at);
    else problems.push(`${at} declares the same budget as ${earlier} (${budgetName(budget)}): keep one of them`);
  }
  return problems;
}
