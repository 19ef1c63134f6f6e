/**
 * What is kept of budgets: their definitions, what each account has spent, when they were last reset,
 * and the anchors. Spend is written in the commit of the records that caused it.
 */
import { isCount } from "../shared/assert.js";
import { type BudgetDefinition, budgetScopes } from "../shared/budget.js";
import { anchorsToStored, type ResetAnchors } from "../shared/reset-anchors.js";
import { type Account, accountsOf, type Budget } from "./budget-account.js";
import type { BudgetBook, RestoredBudget } from "./budget-book.js";
import { spendsToStored } from "./spend.js";
import type { Change } from "./store.js";
import type { Contributor } from "./writer.js";

/** `budgets`: [scope, subject, periodSeconds, amountUsd, perChild, source, createdAtMs, updatedAtMs, sinceMs, filling] by budget id. */
export function budgetChange({ id, definition, source, createdAtMs, updatedAtMs, sinceMs, filling }: Budget): Change {
  const { scope, subject, periodSeconds, amountUsd, perChild } = definition;
  return { table: "budgets", key: id, value: [scope, subject, periodSeconds, amountUsd, perChild, source, createdAtMs, updatedAtMs, sinceMs, filling] };
}

/** Null for what `budgetChange` never wrote. */
export function budgetFromStored(value: readonly unknown[]): RestoredBudget | null {
  const [rawScope, subject, periodSeconds, amountUsd, perChild, source, createdAtMs, updatedAtMs, sinceMs, filling] = value;
  const scope = budgetScopes.find((known) => known === rawScope);
  if (scope === undefined || typeof subject !== "string" || !isCount(periodSeconds, 1) || typeof amountUsd !== "number" || !(amountUsd > 0) || typeof perChild !== "boolean") return null;
  if ((source !== "manual" && source !== "config") || !isCount(createdAtMs) || !isCount(updatedAtMs) || !isCount(sinceMs) || typeof filling !== "boolean") return null;
  const definition: BudgetDefinition = { scope, subject, periodSeconds, amountUsd, perChild };
  return { definition, source, createdAtMs, updatedAtMs, sinceMs, filling };
}

/** By budget id and child. */
export function spendKey(budgetId: string, child: string): string {
  return `${budgetId}\n${child}`;
}

/** The budget's id and the child of an account's key. */
export function splitSpendKey(key: string): { readonly budgetId: string; readonly child: string } {
  const at = key.lastIndexOf("\n");
  return { budgetId: key.slice(0, at), child: key.slice(at + 1) };
}

export function spendChange({ budget, child, spends }: Account): Change {
  return { table: "spends", key: spendKey(budget.id, child), value: spendsToStored(spends) };
}

/** What removes all accounts of a budget. */
export function spendRemovals(budget: Budget): Change[] {
  return accountsOf(budget).map(({ child }) => ({ table: "spends", key: spendKey(budget.id, child), value: undefined }));
}

/** `resets`: [resetAtMs] by budget id. It outlives the budget: made again, it begins there. */
export function resetChange(id: string, atMs: number): Change {
  return { table: "resets", key: id, value: [atMs] };
}

/** `settings`: the anchors, in the order of their table. */
export const anchorsKey = "reset_anchors";

export function anchorsChange(anchors: ResetAnchors): Change {
  return { table: "settings", key: anchorsKey, value: anchorsToStored(anchors) };
}

/** Writes what was spent with the settles that spent it. */
export function createSpendLog(book: BudgetBook): Contributor {
  return { changes: () => spendChanges(book), committed: () => {} };
}

/** The accounts that changed; one whose budget is gone, or began anew, has no entry any more. */
function spendChanges(book: BudgetBook): Change[] {
  const changes: Change[] = [];
  for (const account of book.takeDirty()) {
    const { budget, child } = account;
    if (book.budgets.get(budget.id) === budget && (budget.own ?? budget.children.get(child)) === account) changes.push(spendChange(account));
  }
  return changes;
}
