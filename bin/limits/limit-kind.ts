/**
 * How the commands on rules differ from those on budgets: operations, labels, tables. What the
 * commands do is in `commands/limits/run-limits.ts`.
 */
import {
  type BudgetScope,
  budgetPeriodLabel,
  effectiveBudgetSubject,
} from "../../shared/domain/budget.js";
import { effectiveSubject, periodLabel, type Scope } from "../../shared/domain/rule.js";
import type { ErrorCode } from "../../shared/error-code.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import type { TableView } from "../text/table.js";
import { budgetFlags } from "./budget-flags.js";
import { renderBudgets } from "./budget-table.js";
import type { FlagForm } from "./limit-flags.js";
import type { LimitList, ListOf } from "./list-limits.js";
import { ruleFlags } from "./rule-flags.js";
import { renderRules } from "./rule-table.js";

export interface LimitKind<S extends string> extends ListOf {
  readonly flags: FlagForm<S>;
  readonly singular: string;
  /** What a subject can be, for messages. */
  readonly subjects: string;
  readonly ops: {
    readonly put: AdminOp;
    readonly delete: AdminOp;
    readonly raise: AdminOp;
    readonly endRaise: AdminOp;
    readonly resetOne: AdminOp;
    readonly resetAll: AdminOp;
  };
  readonly periodLabel: (periodSeconds: number) => string;
  /** The subject in the form that matching uses. */
  readonly effectiveSubject: (scope: S, subject: string) => string;
  readonly notFound: ErrorCode;
  readonly render: (list: LimitList, view: TableView) => string;
  /** The question before all are reset, and the line after it. */
  readonly resetQuestion: string;
  readonly resetDone: string;
}

export const ruleKind: LimitKind<Scope> = {
  flags: ruleFlags,
  singular: "rule",
  subjects: "user path, provider or model",
  list: "rate-limits.list",
  items: "rate_limits",
  ops: {
    put: "rate-limits.put",
    delete: "rate-limits.delete",
    raise: "rate-limits.raise",
    endRaise: "rate-limits.end-raise",
    resetOne: "rate-limits.reset-one",
    resetAll: "rate-limits.reset",
  },
  periodLabel,
  effectiveSubject,
  notFound: "rate_limit_not_found",
  render: renderRules,
  resetQuestion: "Reset the live counters of every rule?",
  resetDone: "reset: the live counters of every rule",
};

export const budgetKind: LimitKind<BudgetScope> = {
  flags: budgetFlags,
  singular: "budget",
  subjects: "user path, label, provider or model",
  list: "budgets.list",
  items: "budgets",
  ops: {
    put: "budgets.put",
    delete: "budgets.delete",
    raise: "budgets.raise",
    endRaise: "budgets.end-raise",
    resetOne: "budgets.reset-one",
    resetAll: "budgets.reset",
  },
  periodLabel: budgetPeriodLabel,
  effectiveSubject: effectiveBudgetSubject,
  notFound: "budget_not_found",
  render: renderBudgets,
  resetQuestion: "Reset what every budget has spent?",
  resetDone: "reset: the running period of every budget",
};
