/** What was spent of budgets, as lists show it: here, and on the other hosts that share them. */
import type { AccountMoney } from "../../../shared/api/budget-item.js";
import { sumUsd } from "../../../shared/domain/money.js";
import type { Account, Budget } from "../../budgets/budget-account.js";
import type { BudgetBook } from "../../budgets/budget-book.js";
import { spentOf } from "../../budgets/judge-budgets.js";
import type { DaemonState } from "../../state.js";

/** What is left is negative once more was spent than the amount; the ratio isn't clamped either. */
export function money(
  { budgets: book }: DaemonState,
  account: Account,
  nowMs: number,
): AccountMoney {
  const { amountUsd } = account.budget.definition;
  const spentUsd = sumUsd(spentOf(book, account, nowMs));
  const remaining = Math.round((amountUsd - spentUsd) * 1e6) / 1e6;
  return {
    spent: spentUsd,
    // Rounding leaves a −0 of what is less than half a micro-dollar too much.
    remaining: remaining + 0,
    usage_ratio: spentUsd / amountUsd,
    ...otherHosts(book, account, nowMs),
  };
}

/** What the other hosts have spent of it, and how old that is; nothing where there are none. */
function otherHosts(
  book: BudgetBook,
  account: Account,
  nowMs: number,
): Pick<AccountMoney, "other_hosts"> {
  if (book.others === null) return {};
  const { period, ageMs } = book.others.seen(account, book.running(account, nowMs).startMs);
  return {
    other_hosts: {
      spent: period === null ? 0 : sumUsd(period.spent),
      age_seconds: ageMs === null ? null : Math.floor(ageMs / 1000),
    },
  };
}

/** Whether anything was recorded in the running period, on any host. */
export function hasUsage(book: BudgetBook, account: Account, nowMs: number): boolean {
  const { startMs, requests } = book.running(account, nowMs);
  return requests > 0 || (book.others?.spentIn(account, startMs)?.requests ?? 0) > 0;
}

/** Reads again what the other hosts have spent on listed budgets, with a cluster. */
export async function refreshOthers(
  { others }: BudgetBook,
  budgets: readonly Budget[],
): Promise<void> {
  if (others !== null) await others.refresh(budgets.flatMap(({ own }) => own ?? []));
}
