/** Which accounts a request meets: those of its labels, of its path and of the path's ancestors. */
import { compareBudgets } from "../../shared/domain/budget.js";
import type { Account, Budget } from "./budget-account.js";

/** The account of one direct child of a template. */
export type ChildAccount = (budget: Budget, child: string, nowMs: number) => Account;

const noBudgets: readonly Budget[] = [];
const noAccounts: Account[] = [];

export class BudgetIndex {
  readonly #bySubject = {
    user_path: new Map<string, readonly Budget[]>(),
    label: new Map<string, readonly Budget[]>(),
  };
  #size = 0;

  add(budget: Budget): void {
    const { scope, subject } = budget.definition;
    const budgets = [...(this.#bySubject[scope].get(subject) ?? noBudgets), budget];
    this.#bySubject[scope].set(
      subject,
      budgets.sort((a, b) => compareBudgets(a.definition, b.definition)),
    );
    this.#size++;
  }

  remove(budget: Budget): void {
    const { scope, subject } = budget.definition;
    const others = this.#bySubject[scope].get(subject)!.filter((other) => other !== budget);
    if (others.length === 0) this.#bySubject[scope].delete(subject);
    else this.#bySubject[scope].set(subject, others);
    this.#size--;
  }

  /** The labels' first, then from the root's to the path's own, each shortest period first. */
  collect(
    userPath: string,
    labels: readonly string[],
    nowMs: number,
    childAccount: ChildAccount,
  ): Account[] {
    if (this.#size === 0) return noAccounts;
    const { user_path: byPath, label: byLabel } = this.#bySubject;
    const accounts: Account[] = [];
    for (const label of labels)
      for (const { own } of byLabel.get(label) ?? noBudgets) if (own !== null) accounts.push(own);
    for (let end = 0; ; ) {
      for (const budget of byPath.get(end === 0 ? "/" : userPath.slice(0, end)) ?? noBudgets) {
        if (budget.own !== null) accounts.push(budget.own);
        else if (end + 1 < userPath.length)
          accounts.push(childAccount(budget, segmentAt(userPath, end + 1), nowMs));
      }
      if (end === userPath.length || userPath.length === 1) return accounts;
      const next = userPath.indexOf("/", end + 1);
      end = next === -1 ? userPath.length : next;
    }
  }
}

/** The segment of a path that begins at `from`. */
function segmentAt(userPath: string, from: number): string {
  const end = userPath.indexOf("/", from);
  return end === -1 ? userPath.slice(from) : userPath.slice(from, end);
}
