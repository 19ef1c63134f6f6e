/** Which accounts a request meets: those of its labels, of its path and of the path's ancestors. */
import { compareBudgets } from "../../shared/domain/budget.js";
import type { Account, Budget } from "./budget-account.js";

/** The account of one direct child of a template. */
export type ChildOf = (budget: Budget, child: string) => Account;

export interface BudgetIndex {
  add(budget: Budget): void;
  remove(budget: Budget): void;
  /** The labels' first, then the root's and on to the path's own, each shortest period first. */
  collect(userPath: string, labels: readonly string[], childOf: ChildOf): Account[];
}

const nothing: Account[] = [];

export function createBudgetIndex(): BudgetIndex {
  const bySubject = { user_path: new Map<string, Budget[]>(), label: new Map<string, Budget[]>() };
  let size = 0;
  return {
    add(budget) {
      const { scope, subject } = budget.definition;
      const list = [...(bySubject[scope].get(subject) ?? []), budget];
      bySubject[scope].set(
        subject,
        list.sort((a, b) => compareBudgets(a.definition, b.definition)),
      );
      size++;
    },
    remove(budget) {
      const { scope, subject } = budget.definition;
      const rest = (bySubject[scope].get(subject) ?? []).filter((other) => other !== budget);
      if (rest.length === 0) bySubject[scope].delete(subject);
      else bySubject[scope].set(subject, rest);
      size--;
    },
    collect(userPath, labels, childOf) {
      if (size === 0) return nothing;
      const matched: Account[] = [];
      for (const label of labels) collectFrom(bySubject.label.get(label), "", 0, matched, childOf);
      const { user_path: byPath } = bySubject;
      collectFrom(byPath.get("/"), userPath, 1, matched, childOf);
      if (userPath.length === 1) return matched;
      for (let end = userPath.indexOf("/", 1); ; end = userPath.indexOf("/", end + 1)) {
        collectFrom(
          byPath.get(end === -1 ? userPath : userPath.slice(0, end)),
          userPath,
          end === -1 ? userPath.length : end + 1,
          matched,
          childOf,
        );
        if (end === -1) return matched;
      }
    },
  };
}

function collectFrom(
  budgets: readonly Budget[] | undefined,
  userPath: string,
  childFrom: number,
  into: Account[],
  childOf: ChildOf,
): void {
  if (budgets === undefined) return;
  for (const budget of budgets) {
    if (budget.own !== null) into.push(budget.own);
    else if (childFrom < userPath.length) {
      const end = userPath.indexOf("/", childFrom);
      into.push(
        childOf(budget, end === -1 ? userPath.slice(childFrom) : userPath.slice(childFrom, end)),
      );
    }
  }
}
