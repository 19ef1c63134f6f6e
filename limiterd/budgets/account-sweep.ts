/**
 * Goes through the accounts of all templates' children, some at a time, and forgets the idle ones.
 */
import type { Account, Budget } from "./budget-account.js";

export class AccountSweep {
  readonly #budgets: ReadonlyMap<string, Budget>;
  /** Where the next look continues. */
  #next: Iterator<Account> | null = null;

  constructor(budgets: ReadonlyMap<string, Budget>) {
    this.#budgets = budgets;
  }

  /** As `BudgetBook.forgetIdle`. */
  forgetIdle(nowMs: number, examined: number): Account[] {
    const forgotten: Account[] = [];
    this.#next ??= this.#children();
    for (let i = 0; i < examined; i++) {
      const next = this.#next.next();
      if (next.done === true) {
        this.#next = null;
        break;
      }
      const account = next.value;
      const { budget, spends } = account;
      // It was deleted, or has begun anew.
      if (this.#budgets.get(budget.id) !== budget || budget.children.get(account.child) !== account)
        continue;
      const twoPeriodsMs = 2 * budget.definition.periodSeconds * 1000;
      // A period far ahead is of a clock that has stepped back since.
      const isNear = spends.some(({ startMs }) => Math.abs(nowMs - startMs) < twoPeriodsMs);
      if (account.dirty || budget.backfill || isNear) continue;
      budget.children.delete(account.child);
      // Should the clock step back, its periods are looked up.
      const lastStartMs = spends.findLast(({ startMs }) => startMs <= nowMs)?.startMs ?? 0;
      budget.sinceMs = Math.max(budget.sinceMs, lastStartMs + 1);
      forgotten.push(account);
    }
    return forgotten;
  }

  *#children(): Generator<Account> {
    for (const { children } of this.#budgets.values()) yield* children.values();
  }
}
