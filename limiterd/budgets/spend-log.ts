/**
 * The log of spends: the commit of a batch's records has one entry with the spend of each charged
 * account after them. `flushUsage` removes entries once the accounts' own entries are written.
 */
import { assert } from "../../shared/assert.js";
import type { Change } from "../store/store.js";
import type { Contributor } from "../store/writer.js";
import type { UsageLog } from "../usage/usage-log.js";
import { type Account, freshAccount } from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";
import { type Spends, spendsFromStored, spendsToStored } from "./spend.js";
import { spendKey } from "./stored-budget.js";

/** Writes the spend in the commit of the settles that caused it. */
export interface SpendLog extends Contributor {
  /** Returns all accounts whose own entries are stale. */
  takeBehind(): ReadonlySet<Account>;
  /** Removes the entries up to a key, once the accounts' own entries cover them. */
  removals(recordKey: number): Change[];
}

/**
 * The log of an earlier epoch: its keys, ascending, and the accounts whose own entries are stale.
 */
export interface SpendsLogged {
  readonly keys: number[];
  readonly behind: Set<Account>;
}

/** Creates a contributor that must come after `usage`, whose batch gives the entries their keys. */
export function createSpendLog(
  book: BudgetBook,
  usage: Pick<UsageLog, "lastKey">,
  { keys, behind: left }: SpendsLogged,
): SpendLog {
  let behind = left;
  return {
    changes() {
      const value: unknown[] = [];
      for (const account of book.takeDirty()) {
        // Accounts that aren't current belong to deleted or cleared budgets.
        if (!book.isCurrent(account)) continue;
        const { budget, child, spends } = freshAccount(account);
        value.push([spendKey(budget.id, child), ...spendsToStored(spends)]);
        behind.add(account);
      }
      if (value.length === 0) return [];
      assert(usage.lastKey > (keys.at(-1) ?? 0), "spending is logged with its records");
      keys.push(usage.lastKey);
      return [{ table: "spendlog", key: usage.lastKey, value }];
    },
    committed() {},
    takeBehind() {
      const taken = behind;
      behind = new Set();
      return taken;
    },
    removals(recordKey) {
      const covered = keys.findIndex((key) => key > recordKey);
      return keys
        .splice(0, covered === -1 ? keys.length : covered)
        .map((key) => ({ table: "spendlog", key, value: undefined }));
    },
  };
}

/**
 * `spendlog`: [account, …spends] of each account that a batch charged, with the spend after it, by
 * the key of the batch's records. Null for what a spend log never wrote.
 */
export function spendLogFromStored(
  value: readonly unknown[],
): readonly { readonly key: string; readonly spends: Spends }[] | null {
  const images: { key: string; spends: Spends }[] = [];
  for (const item of value) {
    const [key, ...rest] = Array.isArray(item) ? (item as unknown[]) : [];
    const spends = spendsFromStored(rest);
    if (typeof key !== "string" || spends === null) return null;
    images.push({ key, spends });
  }
  return images;
}
