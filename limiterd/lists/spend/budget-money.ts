/** The spend of budgets as lists show it, on this host and on the other hosts. */
import type { AccountMoney } from "../../../shared/api/budget-item.js";
import { costUsd, sumUsd } from "../../../shared/domain/money.js";
import type { Account } from "../../budgets/budget-account.js";
import type { BudgetBook } from "../../budgets/budget-book.js";
import {
  amountUsdOf,
  type BudgetMatching,
  carriedOver,
  matchCopies,
  otherSpend,
  ownRequests,
  spentOf,
} from "../../budgets/judge-budgets.js";
import type { DaemonState } from "../../state.js";

/**
 * The spend, the rest and the ratio of an account. If more than the amount was spent, the rest is
 * negative and the ratio above 1.
 */
export function money(
  { budgets: book }: DaemonState,
  account: Account,
  nowMs: number,
): AccountMoney {
  const amountUsd = amountUsdOf(book, account, nowMs);
  const spentUsd = sumUsd(spentOf(book, account, nowMs));
  const remaining = Math.round((amountUsd - spentUsd) * 1e6) / 1e6;
  return {
    spent: spentUsd,
    ...(account.budget.definition.hold === undefined ? {} : { held: heldUsd(account) }),
    // Converts −0, which rounding leaves if the spend exceeds the amount by less than half a
    // micro-dollar.
    remaining: remaining + 0,
    usage_ratio: spentUsd / amountUsd,
    ...(account.budget.definition.rollover === undefined
      ? {}
      : { carried_over: sumUsd(carriedOver(book, account, nowMs)) }),
    ...otherHosts(book, account, nowMs),
  };
}

/** What running requests hold. */
export function heldUsd({ budget, child }: Account): number {
  return costUsd(budget.held?.of(child) ?? 0);
}

/**
 * As `usage_ratio` of `money`, for comparing all accounts: without following the other hosts' spend
 * on each.
 */
export function usageRatio(book: BudgetMatching, account: Account, nowMs: number): number {
  return sumUsd(spentOf(book, account, nowMs)) / amountUsdOf(book, account, nowMs);
}

/** The book for `usageRatio`. */
export function peekedBook(book: BudgetBook): BudgetMatching {
  return { ...matchCopies(book), others: book.others?.peek ?? null };
}

/** The other hosts' spend and its age; empty without a cluster. */
function otherHosts(
  book: BudgetBook,
  account: Account,
  nowMs: number,
): Pick<AccountMoney, "other_hosts"> {
  if (book.others === null) return {};
  const others = otherSpend(book, account, nowMs);
  const ageMs = book.others.seenAgeMs(account);
  return {
    other_hosts: {
      spent: others === null ? 0 : sumUsd(others.spent),
      age_seconds: ageMs === null ? null : Math.floor(ageMs / 1000),
    },
  };
}

/** Whether anything was recorded in the running period, on any host. */
export function hasUsage(book: BudgetBook, account: Account, nowMs: number): boolean {
  return (
    ownRequests(book, account, nowMs) > 0 || (otherSpend(book, account, nowMs)?.requests ?? 0) > 0
  );
}
