/**
 * Restores the budgets with their spend, and applies the configuration's budgets (docs/budgets.md).
 * An account's own entry may be stale; the log has its latest spend.
 */

import { childrenPerTemplateMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import type { ModelNamings } from "../../shared/config/model-name.js";
import { type BudgetDefinition, budgetId } from "../../shared/domain/budget.js";
import { isSameCalendar } from "../../shared/domain/budget-calendar.js";
import { isSameOnExhausted } from "../../shared/domain/on-exhausted.js";
import { anchorsFromStored, defaultAnchors } from "../../shared/domain/reset-anchors.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import {
  type Account,
  type Budget,
  childOf,
  fillFromStore,
  type StoredSpend,
} from "./budget-account.js";
import { BudgetBook, type BudgetBookPorts } from "./budget-book.js";
import { type RestoredSpendLog, spendLogFromStored } from "./spend-log.js";
import {
  anchorsKey,
  budgetChange,
  budgetFromStored,
  resetFromStored,
  spendFromStored,
  spendKey,
  splitSpendKey,
} from "./stored-budget.js";

interface RestoredBudgets {
  readonly budgets: BudgetBook;
  readonly changes: readonly Change[];
  /**
   * New budgets, and those whose backfill was interrupted: the spend of their period must be looked
   * up.
   */
  readonly incomplete: readonly Budget[];
  readonly logged: RestoredSpendLog;
}

/**
 * `configured` null leaves the stored budgets as they are: they are disabled, not deleted. Throws
 * `StoreUnreadableError`.
 */
export function restoreBudgets(
  store: Store,
  configured: readonly BudgetDefinition[] | null,
  ports: BudgetBookPorts & { readonly providers?: ModelNamings },
  nowMs: number,
): RestoredBudgets {
  const stored = store.get("settings", anchorsKey);
  const anchors =
    stored === undefined
      ? defaultAnchors
      : (anchorsFromStored(stored) ?? throwMalformed(store, "settings", anchorsKey));
  const book = new BudgetBook(ports, anchors, childrenPerTemplateMax, ports.providers);
  for (const { key, value } of store.entries("resets")) {
    const { atMs, periods } = resetFromStored(value) ?? throwMalformed(store, "resets", key);
    book.restoreReset(String(key), atMs, periods);
  }
  for (const { key, value } of store.entries("budgets"))
    book.restore(budgetFromStored(value) ?? throwMalformed(store, "budgets", key));
  for (const budget of book.budgets.values()) readAccounts(store, budget);
  const lastRecordKey = ports.lastRecordKey();
  const logged: RestoredSpendLog = { keys: [], behind: new Set() };
  for (const { key, value } of store.entries("spendlog")) {
    const recordKey = Number(key);
    // An entry is written with its records, so its key can't be above the last record key.
    if (!isCount(recordKey) || recordKey > lastRecordKey) throwMalformed(store, "spendlog", key);
    logged.keys.push(recordKey);
    for (const image of spendLogFromStored(value) ?? throwMalformed(store, "spendlog", key)) {
      const account = accountOf(book, image.key);
      if (account === null || recordKey <= Math.max(account.budget.sinceKey, account.restoredKey))
        continue;
      fillFromStore(account, { recordKey, spends: image.spends });
      logged.behind.add(account);
    }
  }
  const changes: Change[] = [];
  const incomplete: Budget[] = [];
  for (const budget of book.budgets.values()) {
    if (!budget.isBackfilling) continue;
    book.clear(budget, nowMs);
    incomplete.push(budget);
  }
  if (configured !== null) applyConfiguredBudgets(book, configured, { nowMs, changes, incomplete });
  return {
    budgets: book,
    changes,
    incomplete: incomplete.filter((budget) => book.budgets.get(budget.id) === budget),
    logged,
  };
}

/**
 * Reads a budget's own account. Accounts of children are loaded lazily or later
 * (`lifecycle/load-unread.ts`). If the budget is backfilled again, no stored account counts.
 */
function readAccounts(store: Store, budget: Budget): void {
  if (budget.isBackfilling) return;
  const { id, own } = budget;
  const readSpend = (child: string): StoredSpend | null => {
    const key = spendKey(id, child);
    const value = store.get("spends", key);
    if (value === undefined) return null;
    return spendFromStored(value) ?? throwMalformed(store, "spends", key);
  };
  if (own === null) {
    budget.loadSpend = readSpend;
    return;
  }
  const stored = readSpend("");
  if (stored !== null) fillFromStore(own, stored);
}

/**
 * Null if the budget doesn't exist, has become or stopped being a template, or is backfilled again.
 */
function accountOf(book: BudgetBook, key: string): Account | null {
  const { budgetId: id, child } = splitSpendKey(key);
  const budget = book.budgets.get(id);
  if (budget === undefined || budget.isBackfilling || (budget.own !== null) !== (child === ""))
    return null;
  return budget.own ?? childOf(budget, child);
}

/** The collected effects of applying the configuration. */
interface ConfigurationEffects {
  readonly nowMs: number;
  readonly changes: Change[];
  readonly incomplete: Budget[];
}

/**
 * Removes config budgets that are no longer declared, and writes declared ones as `config`. A
 * manual budget with the same key stays as it is.
 */
function applyConfiguredBudgets(
  book: BudgetBook,
  configured: readonly BudgetDefinition[],
  { nowMs, changes, incomplete }: ConfigurationEffects,
): void {
  const declared = new Set(configured.map(budgetId));
  for (const budget of [...book.budgets.values()]) {
    if (budget.source !== "config" || declared.has(budget.id)) continue;
    book.delete(budget.definition);
    changes.push({ table: "budgets", key: budget.id, value: undefined });
  }
  for (const definition of configured) {
    const existing = book.find(definition);
    if (existing?.source === "manual") continue;
    if (
      existing !== null &&
      existing.definition.amountUsd === definition.amountUsd &&
      existing.definition.perChild === definition.perChild &&
      existing.definition.unpriced === definition.unpriced &&
      isSameOnExhausted(existing.definition, definition) &&
      existing.definition.hold === definition.hold &&
      isSameCalendar(existing.definition, definition)
    )
      continue;
    const { budget, isNew } = book.put(definition, { source: "config", nowMs });
    if (isNew) incomplete.push(budget);
    changes.push(budgetChange(budget));
  }
}
