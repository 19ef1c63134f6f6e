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

/**
 * The log of an earlier epoch: its keys, ascending, and the accounts whose own entries are stale.
 */
export interface RestoredSpendLog {
  readonly keys: number[];
  readonly behind: Set<Account>;
}

/**
 * Writes the spend in the commit of the settles that caused it. It contributes to the batches in
 * which accounts get dirty, after `usage`, whose batch gives the entries their keys.
 */
export class SpendLog implements Contributor {
  readonly #book: BudgetBook;
  readonly #usage: Pick<UsageLog, "lastKey">;
  readonly #keys: number[];
  #behind: Set<Account>;

  constructor(
    book: BudgetBook,
    usage: Pick<UsageLog, "lastKey">,
    { keys, behind }: RestoredSpendLog,
  ) {
    this.#book = book;
    this.#usage = usage;
    this.#keys = keys;
    this.#behind = behind;
  }

  changes(): Change[] {
    const value: unknown[] = [];
    for (const account of this.#book.takeDirty()) {
      // Accounts that aren't current belong to deleted or cleared budgets.
      if (!this.#book.isCurrent(account)) continue;
      const { budget, child, spends } = freshAccount(account);
      value.push([spendKey(budget.id, child), ...spendsToStored(spends)]);
      this.#behind.add(account);
    }
    if (value.length === 0) return [];
    const key = this.#usage.lastKey;
    assert(key > (this.#keys.at(-1) ?? 0), "spending is logged with its records");
    this.#keys.push(key);
    return [{ table: "spendlog", key, value }];
  }

  /** Returns all accounts whose own entries are stale. */
  takeBehind(): ReadonlySet<Account> {
    const behind = this.#behind;
    this.#behind = new Set();
    return behind;
  }

  /** Removes the entries up to a key, once the accounts' own entries cover them. */
  removals(recordKey: number): Change[] {
    const covered = this.#keys.findIndex((key) => key > recordKey);
    return this.#keys
      .splice(0, covered === -1 ? this.#keys.length : covered)
      .map((key) => ({ table: "spendlog", key, value: undefined }));
  }
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
