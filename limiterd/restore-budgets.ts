/**
 * Brings back the budgets and what they have spent, and puts the configuration's budgets in their place
 * (CONTRACT section 9). Nothing is replayed: spend is in the commit of its records.
 */
import { isCount } from "../shared/assert.js";
import { type BudgetDefinition, budgetId } from "../shared/budget.js";
import { anchorsFromStored, defaultAnchors } from "../shared/reset-anchors.js";
import type { Budget } from "./budget-account.js";
import { type BudgetBook, type BudgetBookPorts, createBudgetBook } from "./budget-book.js";
import { anchorsKey, budgetChange, budgetFromStored, spendRemovals, splitSpendKey } from "./budget-store.js";
import { spendsFromStored } from "./spend.js";
import type { Change, Store } from "./store.js";
import { damaged } from "./usage-reader.js";

export interface RestoredBudgets {
  readonly budgets: BudgetBook;
  readonly changes: readonly Change[];
  /** Made just now, or stopped while they were filled: what their period has cost so far is to be looked up. */
  readonly unfilled: readonly Budget[];
}

/** `configured` null leaves the stored budgets as they are: they are disabled, not withdrawn. Throws `StoreUnreadableError`. */
export function restoreBudgets(store: Store, configured: readonly BudgetDefinition[] | null, ports: BudgetBookPorts, nowMs: number): RestoredBudgets {
  const stored = store.get("settings", anchorsKey);
  const anchors = stored === undefined ? defaultAnchors : (anchorsFromStored(stored) ?? damaged(store, "settings", anchorsKey));
  const book = createBudgetBook(ports, anchors);
  for (const { key, value } of store.entries("resets")) {
    const [atMs] = value;
    if (!isCount(atMs)) damaged(store, "resets", key);
    book.restoreReset(String(key), atMs);
  }
  for (const { key, value } of store.entries("budgets")) book.restore(budgetFromStored(value) ?? damaged(store, "budgets", key));
  const changes: Change[] = [];
  for (const { key, value } of store.entries("spends")) {
    const spends = spendsFromStored(value) ?? damaged(store, "spends", key);
    const { budgetId: id, child } = splitSpendKey(String(key));
    const budget = book.budgets.get(id);
    if (budget === undefined || budget.filling || (budget.own !== null) !== (child === "")) changes.push({ table: "spends", key, value: undefined });
    else (budget.own ?? book.childOf(budget, child)).spends.push(...spends);
  }
  const unfilled: Budget[] = [];
  for (const budget of book.budgets.values()) {
    if (!budget.filling) continue;
    book.clear(budget, nowMs);
    unfilled.push(budget);
  }
  if (configured !== null) applyConfigured(book, configured, { nowMs, changes, unfilled });
  return { budgets: book, changes, unfilled: unfilled.filter((budget) => book.budgets.get(budget.id) === budget) };
}

interface Into {
  readonly nowMs: number;
  readonly changes: Change[];
  readonly unfilled: Budget[];
}

/** Config budgets that are no longer declared go, declared ones are written as `config`, a manual budget on the same key stays as it is. */
function applyConfigured(book: BudgetBook, configured: readonly BudgetDefinition[], { nowMs, changes, unfilled }: Into): void {
  const declared = new Set(configured.map(budgetId));
  for (const budget of [...book.budgets.values()]) {
    if (budget.source !== "config" || declared.has(budget.id)) continue;
    book.delete(budget.definition);
    changes.push({ table: "budgets", key: budget.id, value: undefined }, ...spendRemovals(budget));
  }
  for (const definition of configured) {
    const known = book.find(definition);
    if (known?.source === "manual") continue;
    if (known !== null && known.definition.amountUsd === definition.amountUsd && known.definition.perChild === definition.perChild) continue;
    const stale = known !== null && known.definition.perChild !== definition.perChild ? spendRemovals(known) : [];
    const { budget, made } = book.put(definition, { source: "config", nowMs });
    if (made) unfilled.push(budget);
    changes.push(...stale, budgetChange(budget));
  }
}
