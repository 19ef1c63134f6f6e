/** Budgets with what was spent, as GET /admin/budgets lists them (docs/budgets.md). */
import type { BudgetScope } from "../domain/budget.js";
import type { ResetAnchors } from "../domain/reset-anchors.js";
import type { RuleSource } from "../domain/rule.js";
import type { ListPage, Timed } from "./list-page.js";
import type { Overridden } from "./rule-item.js";

interface BudgetPeriod {
  /** `hourly`, `daily`, `weekly`, `monthly`, else seconds such as `300s`. */
  readonly period_label: string;
  readonly period_seconds: number;
}

/** The budget that a refusal is about. */
export interface BudgetName extends BudgetPeriod {
  readonly scope: BudgetScope;
  /** The child's path where the budget is a template. */
  readonly subject: string;
}

/** What is known of the other hosts' spend, where several hosts share their budgets. */
interface OtherHostsSpend {
  /** US dollars of the running period, which are in `spent` too. */
  readonly spent: number;
  /** Since that was read; null: it hasn't been read yet. */
  readonly age_seconds: number | null;
}

/** Where an account is in its running period. */
interface BudgetMoney {
  /** US dollars; 0 for a template. */
  readonly spent: number;
  /** `spent` of `amount`; not clamped. */
  readonly usage_ratio: number;
  /** What is left of the amount, negative once it is overspent; not for a template. */
  readonly remaining?: number;
  /** Only where several hosts share their budgets; not for a template. */
  readonly other_hosts?: OtherHostsSpend;
}

/** As of an account. */
export type AccountMoney = Required<Omit<BudgetMoney, "other_hosts">> &
  Pick<BudgetMoney, "other_hosts">;

interface RunningPeriod {
  /** Whole seconds; the time of a reset if there was one in the period. */
  readonly period_start: string;
  readonly period_end: string;
}

interface BudgetFacts {
  readonly scope: BudgetScope;
  readonly subject: string;
  /** For that scope alone: the same as `subject`. */
  readonly user_path?: string;
  /** A template: each direct child of the path has the amount for itself. */
  readonly per_child: boolean;
  /** US dollars of one period. */
  readonly amount: number;
  /** Only while budgets can't be enforced: why. */
  readonly inert?: string;
}

export interface BudgetItem extends BudgetFacts, BudgetMoney, BudgetPeriod, RunningPeriod {
  readonly effective_subject: string;
  /** The elapsed share of the period, from 0 to 1. */
  readonly period_ratio: number;
  /** Whole seconds; null: it never was. */
  readonly last_reset_at: string | null;
  /** Whether anything was recorded in the period; false for a template. */
  readonly has_usage: boolean;
  readonly source: RuleSource;
  /** Only from the configuration: the file and the place in it, or the variable. */
  readonly declared_at?: string;
  /** Where it is a file: the line in it, from 1. */
  readonly declared_line?: number;
  /** As of a rule. */
  readonly overrides?: Overridden & { readonly amount: number };
  /** Whole seconds. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** In the order scope, subject, period. */
export interface BudgetList extends Timed {
  readonly budgets: readonly BudgetItem[];
}

export interface BudgetPage extends BudgetList, ListPage {}

/** One child of a template. */
interface BudgetChildItem extends AccountMoney {
  /** The child's path. */
  readonly subject: string;
}

/** Of GET /admin/budgets/children: those first that have spent most of their amounts. */
export interface BudgetChildList extends Timed {
  readonly children: readonly BudgetChildItem[];
  /** How many children have spent anything lately, whatever was searched for. */
  readonly total: number;
  /**
   * Where hosts share budgets: how many others live. Children that only they have met aren't
   * listed, or counted in `total`.
   */
  readonly other_hosts?: number;
}

/** A budget as its caller sees it (GET /v1/usage): a template as the caller's own child of it. */
export interface BudgetStatus extends BudgetFacts, AccountMoney, BudgetPeriod, RunningPeriod {
  /** Whether its requests are refused. */
  readonly exceeded: boolean;
  /** Until the period ends; at least 1. */
  readonly resets_in_seconds: number;
}

/** Of GET and PUT /admin/budgets/settings. */
export interface BudgetSettings extends ResetAnchors, Timed {}
