/**
 * Removes the accounts of deleted or cleared budgets from the store, in slices. If an account has
 * been created again meanwhile, its entry is written instead.
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import type { Change } from "../store/store.js";
import type { Writer } from "../store/writer.js";
import type { UsageLog } from "../usage/usage-log.js";
import type { Budget } from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";
import { spendChange, spendKey, splitSpendKey } from "./stored-budget.js";

interface RemovalPorts {
  readonly budgets: BudgetBook;
  readonly usage: Pick<UsageLog, "lastKey">;
  readonly writer: Writer;
}

/**
 * The keys of all current accounts of a budget, which may be deleted or cleared while they are
 * read.
 */
export function spendKeys({ id, own, children }: Budget): Iterable<string> {
  return own === null ? keysOf(id, children.keys()) : [spendKey(id, "")];
}

function* keysOf(id: string, children: Iterable<string>): Generator<string> {
  for (const child of children) yield spendKey(id, child);
}

/**
 * Resolves when the accounts are removed from the store. Call it when the change that made them
 * stale is queued.
 */
export async function removeSpends(ports: RemovalPorts, keys: Iterable<string>): Promise<void> {
  const { writer } = ports;
  let slice: Change[] = [];
  for (const key of keys) {
    // The batch that closes here, or an earlier one, has all charges of the current account.
    if (slice.length === 0) writer.closeBatch();
    slice.push(changeOf(ports, key));
    if (slice.length < windowsPerSlice) continue;
    await writer.write(slice);
    slice = [];
  }
  if (slice.length > 0) await writer.write(slice);
}

function changeOf({ budgets, usage }: RemovalPorts, key: string): Change {
  const { budgetId, child } = splitSpendKey(key);
  const budget = budgets.budgets.get(budgetId);
  const account = child === "" ? budget?.own : budget?.children.get(child);
  return account === undefined || account === null || account.spends.length === 0
    ? { table: "spends", key, value: undefined }
    : spendChange(account, usage.lastKey);
}
