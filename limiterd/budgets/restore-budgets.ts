/**
 * Restores the budgets and what they have spent, and puts the configuration's budgets in their
 * place (docs/budgets.md). An account's own entry may be behind; the log holds what it had spent.
 */
import { isCount } from "../../shared/checked.js";
import { type BudgetDefinition, budgetId } from "../../shared/domain/budget.js";
import { anchorsFromStored, defaultAnchors } from "../../shared/domain/reset-anchors.js";
import { append } from "../../shared/long-lists.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { type Account, type Budget, childOf } from "./budget-account.js";
import { BudgetBook, type BudgetBookPorts } from "./budget-book.js";
import { spendKeys } from "./remove-spends.js";
import { clearPeriod } from "./spend.js";
import { type SpendsLogged, spendLogFromStored } from "./spend-log.js";
import {
  anchorsKey,
  budgetChange,
  budgetFromStored,
  resetFromStored,
  spendFromStored,
  splitSpendKey,
} from "./stored-budget.js";

interface RestoredBudgets {
  readonly budgets: BudgetBook;
  readonly changes: readonly Change[];
  /**
   * Keys of accounts that nothing counts any more; to be removed when there is time, for there may
   * be a million.
   */
  readonly staleSpends: readonly string[];
  /**
   * Created just now, or interrupted in their backfill: what their period has cost so far is to be
   * looked up.
   */
  readonly incomplete: readonly Budget[];
  readonly logged: SpendsLogged;
}

/**
 * `configured` null leaves the stored budgets as they are: they are disabled, not deleted. Throws
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
    const { atMs, periods } = resetFromStored(value) ?? throwMalformed(store, "resets", key);
    book.restoreReset(String(key), atMs, periods);
  }
  for (const { key, value } of store.entries("budgets"))
    book.restore(budgetFromStored(value) ?? throwMalformed(store, "budgets", key));
  const changes: Change[] = [];
  const staleSpends: string[] = [];
  const held = new Map<Account, number>();
  for (const { key, value } of store.entries("spends")) {
    const { recordKey, spends } = spendFromStored(value) ?? throwMalformed(store, "spends", key);
    const account = accountOf(book, String(key));
    if (account === null) staleSpends.push(String(key));
    else {
      append(account.spends, spends);
      applyResets(account, recordKey);
      held.set(account, recordKey);
    }
  }
  const lastRecordKey = ports.lastRecordKey();
  const logged: SpendsLogged = { keys: [], behind: new Set() };
  for (const { key, value } of store.entries("spendlog")) {
    const recordKey = Number(key);
    // It is written with its records, so that none can be behind the last of them.
    if (!isCount(recordKey) || recordKey > lastRecordKey) throwMalformed(store, "spendlog", key);
    logged.keys.push(recordKey);
    for (const image of spendLogFromStored(value) ?? throwMalformed(store, "spendlog", key)) {
      const account = accountOf(book, image.key);
      if (
        account === null ||
        recordKey <= Math.max(account.budget.sinceKey, held.get(account) ?? 0)
      )
        continue;
      account.spends.length = 0;
      append(account.spends, image.spends);
      applyResets(account, recordKey);
      logged.behind.add(account);
    }
  }
  const incomplete: Budget[] = [];
  for (const budget of book.budgets.values()) {
    if (!budget.backfill) continue;
    book.clear(budget, nowMs);
    incomplete.push(budget);
  }
  if (configured !== null)
    applyConfigured(book, configured, { nowMs, changes, staleSpends, incomplete });
  return {
    budgets: book,
    changes,
    staleSpends,
    incomplete: incomplete.filter((budget) => book.budgets.get(budget.id) === budget),
    logged,
  };
}

/**
 * Applies the resets that came after what an account holds. One that was written at a reset's very
 * key holds nothing of that period from after it: such records have greater keys.
 */
function applyResets({ budget, spends }: Account, recordKey: number): void {
  for (const reset of budget.resets)
    if (recordKey <= reset.recordKey) clearPeriod(spends, reset.startMs);
}

/**
 * Null if the budget doesn't exist, has become or is no longer a template, or is backfilled again.
 */
function accountOf(book: BudgetBook, key: string): Account | null {
  const { budgetId: id, child } = splitSpendKey(key);
  const budget = book.budgets.get(id);
  if (budget === undefined || budget.backfill || (budget.own !== null) !== (child === ""))
    return null;
  return budget.own ?? childOf(budget, child);
}

/** What applying the configuration adds to. */
interface Applied {
  readonly nowMs: number;
  readonly changes: Change[];
  readonly staleSpends: string[];
  readonly incomplete: Budget[];
}

/**
 * Config budgets that are no longer declared are removed, declared ones are written as `config`, a
 * manual budget on the same key stays as it is.
 */
function applyConfigured(
  book: BudgetBook,
  configured: readonly BudgetDefinition[],
  { nowMs, changes, staleSpends, incomplete }: Applied,
): void {
  const declared = new Set(configured.map(budgetId));
  for (const budget of [...book.budgets.values()]) {
    if (budget.source !== "config" || declared.has(budget.id)) continue;
    book.delete(budget.definition);
    changes.push({ table: "budgets", key: budget.id, value: undefined });
    for (const key of spendKeys(budget)) staleSpends.push(key);
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
    const { budget, made } = book.put(definition, { source: "config", nowMs });
    if (made) incomplete.push(budget);
    if (made && known !== null) for (const key of spendKeys(known)) staleSpends.push(key);
    changes.push(budgetChange(budget));
  }
}
