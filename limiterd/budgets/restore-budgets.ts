/**
 * Brings back the budgets and what they have spent, and puts the configuration's budgets in their
 * place (CONTRACT section 9). An account's own entry may be behind; the log says what it came to.
 */
import { isCount } from "../../shared/assert.js";
import { type BudgetDefinition, budgetId } from "../../shared/domain/budget.js";
import { anchorsFromStored, defaultAnchors } from "../../shared/domain/reset-anchors.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { type Account, type Budget, childOf } from "./budget-account.js";
import { BudgetBook, type BudgetBookPorts } from "./budget-book.js";
import {
  anchorsKey,
  budgetChange,
  budgetFromStored,
  type SpendsLogged,
  spendFromStored,
  spendLogFromStored,
  spendRemovals,
  splitSpendKey,
} from "./budget-store.js";

export interface RestoredBudgets {
  readonly budgets: BudgetBook;
  readonly changes: readonly Change[];
  /**
   * Made just now, or stopped while they were filled: what their period has cost so far is to be
   * looked up.
   */
  readonly unfilled: readonly Budget[];
  readonly logged: SpendsLogged;
}

/**
 * `configured` null leaves the stored budgets as they are: they are disabled, not withdrawn. Throws
 * `StoreUnreadableError`.
 */
export function restoreBudgets(
  store: Store,
  configured: readonly BudgetDefinition[] | null,
  ports: BudgetBookPorts,
  nowMs: number,
): RestoredBudgets {
  const stored = store.get("settings", anchorsKey);
  const anchors =
    stored === undefined
      ? defaultAnchors
      : (anchorsFromStored(stored) ?? throwMalformed(store, "settings", anchorsKey));
  const book = new BudgetBook(ports, anchors);
  for (const { key, value } of store.entries("resets")) {
    const [atMs] = value;
    if (!isCount(atMs)) throwMalformed(store, "resets", key);
    book.restoreReset(String(key), atMs);
  }
  for (const { key, value } of store.entries("budgets"))
    book.restore(budgetFromStored(value) ?? throwMalformed(store, "budgets", key));
  const changes: Change[] = [];
  const held = new Map<Account, number>();
  for (const { key, value } of store.entries("spends")) {
    const { recordKey, spends } = spendFromStored(value) ?? throwMalformed(store, "spends", key);
    const account = accountOf(book, String(key));
    if (account === null) changes.push({ table: "spends", key, value: undefined });
    else {
      account.spends.push(...spends);
      held.set(account, recordKey);
    }
  }
  const logged: SpendsLogged = { keys: [], behind: new Set() };
  for (const { key, value } of store.entries("spendlog")) {
    const recordKey = Number(key);
    logged.keys.push(recordKey);
    for (const image of spendLogFromStored(value) ?? throwMalformed(store, "spendlog", key)) {
      const account = accountOf(book, image.key);
      if (
        account === null ||
        recordKey <= Math.max(account.budget.sinceKey, held.get(account) ?? 0)
      )
        continue;
      account.spends.splice(0, account.spends.length, ...image.spends);
      logged.behind.add(account);
    }
  }
  const unfilled: Budget[] = [];
  for (const budget of book.budgets.values()) {
    if (!budget.backfill) continue;
    book.clear(budget, nowMs);
    unfilled.push(budget);
  }
  if (configured !== null) applyConfigured(book, configured, { nowMs, changes, unfilled });
  return {
    budgets: book,
    changes,
    unfilled: unfilled.filter((budget) => book.budgets.get(budget.id) === budget),
    logged,
  };
}

/**
 * Null for one of no budget, of what was a template then or is one now, or of a budget that is
 * looked up again.
 */
function accountOf(book: BudgetBook, key: string): Account | null {
  const { budgetId: id, child } = splitSpendKey(key);
  const budget = book.budgets.get(id);
  if (budget === undefined || budget.backfill || (budget.own !== null) !== (child === ""))
    return null;
  return budget.own ?? childOf(budget, child);
}

interface Into {
  readonly nowMs: number;
  readonly changes: Change[];
  readonly unfilled: Budget[];
}

/**
 * Config budgets that are no longer declared go, declared ones are written as `config`, a manual
 * budget on the same key stays as it is.
 */
function applyConfigured(
  book: BudgetBook,
  configured: readonly BudgetDefinition[],
  { nowMs, changes, unfilled }: Into,
): void {
  const declared = new Set(configured.map(budgetId));
  for (const budget of [...book.budgets.values()]) {
    if (budget.source !== "config" || declared.has(budget.id)) continue;
    book.delete(budget.definition);
    changes.push({ table: "budgets", key: budget.id, value: undefined }, ...spendRemovals(budget));
  }
  for (const definition of configured) {
    const known = book.find(definition);
    if (known?.source === "manual") continue;
    if (
      known !== null &&
      known.definition.amountUsd === definition.amountUsd &&
      known.definition.perChild === definition.perChild
    )
      continue;
    const stale =
      known !== null && known.definition.perChild !== definition.perChild
        ? spendRemovals(known)
        : [];
    const { budget, made } = book.put(definition, { source: "config", nowMs });
    if (made) unfilled.push(budget);
    changes.push(...stale, budgetChange(budget));
  }
}
