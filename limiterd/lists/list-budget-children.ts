/**
 * The children of a budget's template that have spent most of their amounts, for GET
 * /admin/budgets/children (docs/reference/admin-api.md). Reading changes nothing.
 */
import type { BudgetChildList } from "../../shared/api/budget-item.js";
import { bad, type Checked, good } from "../../shared/checked.js";
import {
  type BudgetKey,
  budgetPeriodLabel,
  parseBudgetResetOne,
} from "../../shared/domain/budget.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { type Failure, failure } from "../../shared/error-code.js";
import { formatMillis } from "../../shared/time.js";
import { forecastFields } from "../budgets/account-forecast.js";
import type { Budget } from "../budgets/budget-account.js";
import type { DaemonState } from "../state.js";
import { fullest } from "./fullest.js";
import { sessionField } from "./list-budgets.js";
import { thereIsOne } from "./list-children.js";
import { type ListQuery, matches, parseChildrenQuery } from "./list-query.js";
import { money, peekedBook, usageRatio } from "./spend/budget-money.js";

/** The body has the fields of `budgets.reset-one`, and `limit` and `search`. */
export function listBudgetChildren(
  state: DaemonState,
  body: unknown,
  nowMs: number,
): Checked<Promise<BudgetChildList>> {
  const query = parseChildrenQuery(body);
  if (!query.ok) return query;
  const key = parseBudgetResetOne(query.value.key);
  if (!key.ok) return key;
  const budget = state.budgets.find(key.value);
  if (budget === null) return { ok: false, failure: unknownBudget(key.value) };
  if (budget.own !== null)
    return bad(`the ${nameOfBudget(key.value)} is no template: it has no children`, "subject");
  if (budget.loadSpend !== null)
    return {
      ok: false,
      failure: failure(
        "overloaded",
        "the daemon has just started and is loading the children: try again in a few seconds",
      ),
    };
  return good(fullestOf(state, budget, query.value.query, nowMs));
}

async function fullestOf(
  state: DaemonState,
  { children }: Budget,
  query: ListQuery,
  nowMs: number,
): Promise<BudgetChildList> {
  const total = children.size;
  const moneyOf = (name: string) => {
    const account = children.get(name);
    return account === undefined
      ? null
      : {
          subject: account.subject,
          ...sessionField(account),
          ...money(state, account, nowMs),
          ...forecastFields(state.budgets, account, nowMs),
        };
  };
  const book = peekedBook(state.budgets);
  const ratio = (name: string): number | null => {
    const account = matches(query, name) ? children.get(name) : undefined;
    return account === undefined ? null : usageRatio(book, account, nowMs);
  };
  const names = await fullest(children.keys(), query.limit, ratio, state);
  const { others } = state.budgets;
  if (others !== null) await others.refresh(names.flatMap((name) => children.get(name) ?? []));
  return {
    children: names.flatMap((name) => moneyOf(name) ?? []),
    total,
    ...(state.shares === null ? {} : { other_hosts: state.shares.turn.otherHosts }),
    server_time: formatMillis(nowMs),
  };
}

/** A budget's name in messages to clients: `daily budget on user_path /team`. */
export function nameOfBudget(key: BudgetKey): string {
  const period = budgetPeriodLabel(key.periodSeconds);
  return `${period} budget on ${key.scope} ${subjectWithModels(key)}`;
}

/** `above`: a path above it that has one. */
export function unknownBudget(key: BudgetKey, above: string | null = null): Failure {
  return failure("budget_not_found", `no ${nameOfBudget(key)}${thereIsOne(above)}`);
}
