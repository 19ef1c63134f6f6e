/**
 * Loads the rules, windows and accounts of budgets that a start has left in the store, in slices,
 * while the daemon already answers requests. What a request needs earlier is loaded lazily
 * (`rules/rule-set.ts`, `counters/unread-windows.ts`, `Budget.loadSpend`).
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import { loadChild, type StoredSpend } from "../budgets/budget-account.js";
import type { BudgetBook } from "../budgets/budget-book.js";
import { spendFromStored, splitSpendKey } from "../budgets/stored-budget.js";
import { loadWindow } from "../counters/unread-windows.js";
import { windowFromStored } from "../counters/window.js";
import { leftPrefix } from "../rules/rule-set.js";
import type { DaemonState } from "../state.js";
import { type Entry, type Store, type Table, throwMalformed } from "../store/store.js";

/**
 * Resolves when all rules are in memory, or the daemon stops. Rejects with `StoreUnreadableError`.
 */
export async function loadRules(state: DaemonState, perSlice: number): Promise<void> {
  const { ruleSet } = state.book;
  const next = async (): Promise<boolean> => {
    await state.yieldToEventLoop();
    return !state.isStopping && !ruleSet.isRead;
  };
  const isComplete =
    ruleSet.isRead ||
    (await readSlices(state.store, "rules", { from: leftPrefix, perSlice, next }, (entry) =>
      ruleSet.take(entry),
    ));
  if (!isComplete || ruleSet.isRead) return;
  ruleSet.endReading();
  // Sorted now, so that the first list isn't delayed.
  state.book.sorted();
}

/**
 * Resolves when all windows are in memory, or the daemon stops, with the keys of stale windows. No
 * child may be removed meanwhile, because its stored window would be loaded again. Rejects with
 * `StoreUnreadableError`.
 */
export async function loadWindows(state: DaemonState, perSlice: number): Promise<string[]> {
  const { book, store } = state;
  const { isComplete, stale } = await load(state, "windows", perSlice, ({ key, value }) => {
    const window = windowFromStored(value) ?? throwMalformed(store, "windows", key);
    return loadWindow(book, String(key), window);
  });
  if (isComplete) book.unread = null;
  return stale;
}

/**
 * As `loadWindows`, for accounts. Meanwhile no account may be removed, and no budget made, deleted
 * or cleared.
 */
export async function loadAccounts(
  state: DaemonState,
  perSlice = windowsPerSlice,
): Promise<string[]> {
  const { budgets, store } = state;
  const { isComplete, stale } = await load(state, "spends", perSlice, ({ key, value }) => {
    const stored = spendFromStored(value) ?? throwMalformed(store, "spends", key);
    return loadAccount(budgets, String(key), stored);
  });
  if (isComplete) endLoading(budgets);
  state.accountsLoading &&= !isComplete;
  return stale;
}

/**
 * Passes the entries of a table to `take`, which returns false for a stale one. Resolves with
 * whether it read the whole table, and the keys of the stale entries.
 */
async function load(
  state: DaemonState,
  table: "windows" | "spends",
  perSlice: number,
  take: (entry: Entry) => boolean,
): Promise<{ readonly isComplete: boolean; readonly stale: string[] }> {
  const stale: string[] = [];
  const next = async (): Promise<boolean> => {
    await state.yieldToEventLoop();
    return !state.isStopping;
  };
  const isComplete = await readSlices(state.store, table, { perSlice, next }, (entry) => {
    if (!take(entry)) stale.push(String(entry.key));
  });
  return { isComplete, stale };
}

/** Loads an account unless it has been read or charged since. False if it is stale. */
export function loadAccount(book: BudgetBook, key: string, stored: StoredSpend): boolean {
  const { budgetId, child } = splitSpendKey(key);
  const budget = book.budgets.get(budgetId);
  // The budget doesn't exist any more, or has become or stopped being a template.
  if (budget === undefined || (budget.own !== null) !== (child === "")) return false;
  const account = budget.own ?? budget.children.get(child);
  if (account !== undefined && account.spends.length > 0) return true;
  // The budget was cleared.
  if (budget.loadSpend === null) return false;
  if (account === undefined) loadChild(budget, child, stored);
  return true;
}

/** Call when all accounts are in memory. */
export function endLoading(book: BudgetBook): void {
  for (const budget of book.budgets.values()) budget.loadSpend = null;
}

interface Slices {
  /** The first key to read; by default the table's first. */
  readonly from?: string;
  /** Entries per turn. */
  readonly perSlice: number;
  /** Resolves in a later turn with whether to continue. */
  next(): Promise<boolean>;
}

/** Sorts after every key: keys begin with the name of a scope. */
const afterAllKeys = "\u{10ffff}";

/**
 * Passes the entries of a table with text keys to `take`, in key order, each with the value that it
 * has when its slice is read. Entries added meanwhile are included if their keys come later.
 * Resolves with whether it read the whole table. Rejects with `StoreUnreadableError`.
 */
export async function readSlices(
  store: Store,
  table: Table,
  { from: first = "", perSlice, next }: Slices,
  take: (entry: Entry) => void,
): Promise<boolean> {
  for (let from = first; ; ) {
    if (!(await next())) return false;
    const slice = store.range(table, { from, before: afterAllKeys, limit: perSlice });
    for (const entry of slice) take(entry);
    if (slice.length < perSlice) return true;
    from = `${slice.at(-1)!.key}\0`;
  }
}
