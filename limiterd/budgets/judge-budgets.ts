/**
 * Judges a request by its budgets (docs/budgets.md): each must have something left in its running
 * period and room for an account of the request's path. The cost of the request isn't known yet.
 */
import { secondsToSweepAll } from "../../shared/bounds.js";
import { compareBudgets } from "../../shared/domain/budget.js";
import { addSum, compareSums, type MoneySum, sumUsd } from "../../shared/domain/money.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import type { Account } from "./budget-account.js";
import type { BudgetBook } from "./budget-book.js";

/** Finds the accounts of a request: the book, or copies. */
export type BudgetMatching = Pick<
  BudgetBook,
  "match" | "matchTarget" | "running" | "boundsOf" | "hasNoRoom" | "others"
>;

/** Finds copies, for a verdict that changes nothing. */
export function matchCopies(book: BudgetBook): BudgetMatching {
  return {
    match: (userPath, labels, nowMs) => book.copy(userPath, labels, nowMs),
    matchTarget: (target, userPath, nowMs) => book.copyForModels(target, userPath, nowMs),
    running: (account, nowMs) => book.running(account, nowMs),
    boundsOf: (budget, nowMs) => book.boundsOf(budget, nowMs),
    hasNoRoom: (account) => book.hasNoRoom(account),
    others: book.others,
  };
}

/**
 * The breach of the budgets of a caller for all models; null if none refuses the request. See
 * `judgeAccounts`.
 */
export function judgeBudgets(
  book: BudgetMatching,
  userPath: string,
  labels: readonly string[],
  nowMs: number,
): BudgetBreach | Breach | null {
  return judgeAccounts(book, book.match(userPath, labels, nowMs), nowMs);
}

/** As `judgeBudgets`, of the budgets for some models that cover a target. */
export function judgeTargetBudgets(
  book: BudgetMatching,
  target: Target,
  userPath: string,
  nowMs: number,
): BudgetBreach | Breach | null {
  return judgeAccounts(book, book.matchTarget(target, userPath, nowMs), nowMs);
}

/**
 * The exceeded budget with the longest wait, the first on a tie; or a template whose children have
 * reached their bound, if its wait is longer.
 */
function judgeAccounts(
  book: BudgetMatching,
  accounts: readonly Account[],
  nowMs: number,
): BudgetBreach | Breach | null {
  let worst: Account | null = null;
  let worstEndMs = 0;
  let full: Account | null = null;
  for (const account of accounts) {
    if (book.hasNoRoom(account)) {
      full ??= account;
      continue;
    }
    if (!isExceeded(book, account, nowMs)) continue;
    const { endMs } = book.boundsOf(account.budget, nowMs);
    if (
      worst !== null &&
      (endMs < worstEndMs ||
        (endMs === worstEndMs &&
          compareBudgets(account.budget.definition, worst.budget.definition) >= 0))
    )
      continue;
    worst = account;
    worstEndMs = endMs;
  }
  const breach = worst === null ? null : breachOfAccount(book, worst, nowMs);
  if (full === null || (breach !== null && breach.waitSeconds >= accountWaitSeconds)) return breach;
  return breachOfChildren(full);
}

/**
 * The estimated wait for room for a new account: the sweep examines each idle account within a
 * minute.
 */
export const accountWaitSeconds = secondsToSweepAll;

/** The breach of a child whose template has no room for its account. */
function breachOfChildren({ budget, subject }: Account): Breach {
  return {
    scope: "user_path",
    subject,
    periodSeconds: budget.definition.periodSeconds,
    dimension: "children",
    cap: budget.children.size,
    waitSeconds: accountWaitSeconds,
    ...(budget.definition.models === undefined ? {} : { models: budget.definition.models }),
  };
}

/** The spend of the running period on this host and, as far as known, on the other hosts. */
export function spentOf(book: BudgetMatching, account: Account, nowMs: number): MoneySum {
  const { startMs, spent } = book.running(account, nowMs);
  const others = book.others?.spentIn(account, startMs) ?? null;
  if (others === null) return spent;
  const sum = { ...spent };
  addSum(sum, others.spent);
  return sum;
}

/** Whether the spend has reached the amount. */
export function isExceeded(book: BudgetMatching, account: Account, nowMs: number): boolean {
  return compareSums(spentOf(book, account, nowMs), account.budget.amount) >= 0;
}

/** The breach that refuses a request with only this account. */
export function breachOfAccount(
  book: BudgetMatching,
  account: Account,
  nowMs: number,
): BudgetBreach {
  const { scope, periodSeconds, models, amountUsd } = account.budget.definition;
  const { endMs } = book.boundsOf(account.budget, nowMs);
  return {
    dimension: "budget",
    scope,
    subject: account.subject,
    periodSeconds,
    spentUsd: sumUsd(spentOf(book, account, nowMs)),
    amountUsd,
    waitSeconds: Math.max(1, Math.ceil((endMs - nowMs) / 1000)),
    ...(models === undefined ? {} : { models }),
  };
}
