/** Budgets and their spend, as GET /admin/budgets lists them (docs/budgets.md). */

import type { BudgetScope, UnpricedChoice } from "../domain/budget.js";
import type { CalendarFields } from "../domain/budget-calendar.js";
import type { ForecastBasis } from "../domain/forecast.js";
import type { HoldField } from "../domain/hold.js";
import type { ExhaustedField } from "../domain/on-exhausted.js";
import type { ResetAnchors } from "../domain/reset-anchors.js";
import type { RuleSource } from "../domain/rule.js";
import type { ListPage, TimedAnswer } from "./list-page.js";
import type { WithRaises } from "./raise-item.js";
import type { Overridden } from "./rule-item.js";

interface BudgetPeriod {
  /**
   * `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `yearly`, `session`, else seconds such as
   * `300s`; for a rolling budget its length, such as `rolling 30d`.
   */
  readonly period_label: string;
  /** 0 for a session. */
  readonly period_seconds: number;
  /** The models that the budget is for, as patterns; absent for all. */
  readonly models?: readonly string[];
}

/** The budget that a refusal is about. */
export interface BudgetName extends BudgetPeriod {
  readonly scope: BudgetScope;
  /** The child's path where the budget is a template. */
  readonly subject: string;
}

/** The spend of the other hosts, if hosts share their budgets. */
interface OtherHostsSpend {
  /** US dollars spent in the running period; `spent` of the budget includes them. */
  readonly spent: number;
  /** Seconds since that was read; null if it hasn't been read yet. */
  readonly age_seconds: number | null;
}

/** The spend of the running period. */
interface BudgetMoney {
  /** The amount carried over from the last period; present if the budget has `rollover`. */
  readonly carried_over?: number;
  /** US dollars; 0 for a template. */
  readonly spent: number;
  /** US dollars that running requests hold; present for a hard cap with an account. */
  readonly held?: number;
  /** `spent` divided by the amount, with what was carried over; not clamped. */
  readonly usage_ratio: number;
  /** The rest of that amount, negative after overspending; absent for a template. */
  readonly remaining?: number;
  /** Present if several hosts share their budgets; absent for a template. */
  readonly other_hosts?: OtherHostsSpend;
}

/** The spend of an account, which a template doesn't have. */
export type AccountMoney = Required<Omit<BudgetMoney, "other_hosts" | "carried_over" | "held">> &
  Pick<BudgetMoney, "other_hosts" | "carried_over" | "held">;

/** When a budget runs out if its spend continues at the present pace; no verdict reads it. */
export interface BudgetForecast {
  readonly rate_usd_per_hour: number;
  /** In whole seconds; null if the amount lasts until the period ends. */
  readonly exhausts_at: string | null;
  /** The spend at the end of the period. */
  readonly projected_usd: number;
  /** The pace of the last two hours, or of the running period. */
  readonly basis: ForecastBasis;
  /** The period of the pace, in seconds. */
  readonly basis_seconds: number;
}

export interface AccountForecast {
  /** Absent for a template, without spend, and while the data is insufficient. */
  readonly forecast?: BudgetForecast;
  /** The time from which a forecast is possible; present while the data is insufficient. */
  readonly forecast_from?: string;
}

interface RunningPeriod {
  /** In whole seconds. After a reset in the period, the time of that reset. */
  readonly period_start: string;
  /** For a rolling budget, now. */
  readonly period_end: string;
}

interface BudgetFacts extends CalendarFields, WithRaises, ExhaustedField, HoldField {
  readonly scope: BudgetScope;
  readonly subject: string;
  /** Present for the scope `user_path`: the same as `subject`. */
  readonly user_path?: string;
  /** Whether the budget is a template: each direct child of the path has the amount for itself. */
  readonly per_child: boolean;
  /** US dollars of one period. */
  readonly amount: number;
  /** Whether callers may use models without a price; absent to use `budgets.unpriced`. */
  readonly unpriced?: UnpricedChoice;
  /** The reason why budgets can't be enforced; present only then. */
  readonly inert?: string;
}

export interface BudgetItem
  extends BudgetFacts,
    BudgetMoney,
    BudgetPeriod,
    RunningPeriod,
    AccountForecast {
  /**
   * The template's path if the item is one of its children, as order=use lists them; `subject` is
   * the child's path then, and the spend is its own.
   */
  readonly template?: string;
  readonly effective_subject: string;
  /** The elapsed part of the period, from 0 to 1. */
  readonly period_ratio: number;
  /** In whole seconds; null if it was never reset. */
  readonly last_reset_at: string | null;
  /** Whether anything was recorded in the period; false for a template. */
  readonly has_usage: boolean;
  readonly source: RuleSource;
  /**
   * The file and the place in it, or the variable; present if the configuration declares the
   * budget.
   */
  readonly declared_at?: string;
  /** The line in the file, from 1; present if a file declares the budget. */
  readonly declared_line?: number;
  /** What the configuration declares, if a change by hand overrides it. */
  readonly overrides?: Overridden &
    CalendarFields &
    ExhaustedField &
    HoldField & { readonly amount: number; readonly unpriced?: UnpricedChoice };
  /** In whole seconds, as `updated_at`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** Sorted by scope, subject, period and models. */
export interface BudgetList extends TimedAnswer {
  readonly budgets: readonly BudgetItem[];
}

export interface BudgetPage extends BudgetList, ListPage {}

/** One child of a template. */
interface BudgetChildItem extends AccountMoney, AccountForecast {
  /** The path of the child, or of the session. */
  readonly subject: string;
  /** Present if the budget is that of each session. */
  readonly session?: string;
}

/** The answer to GET /admin/budgets/children, highest usage ratio first. */
export interface BudgetChildList extends TimedAnswer {
  readonly children: readonly BudgetChildItem[];
  /** How many children have spent anything recently, ignoring the search. */
  readonly total: number;
  /**
   * The number of other live hosts; present if hosts share the budget. Children that only those
   * hosts have served are neither listed nor included in `total`.
   */
  readonly other_hosts?: number;
}

/** A budget as its caller sees it (GET /v1/usage); for a template, the child of the caller. */
export interface BudgetStatus
  extends BudgetFacts,
    AccountMoney,
    BudgetPeriod,
    RunningPeriod,
    AccountForecast {
  /** Present if the budget is that of each session. */
  readonly session?: string;
  /** Whether the budget refuses its requests. */
  readonly exceeded: boolean;
  /**
   * Seconds until the period ends, or until the first spend of a rolling budget stops counting; at
   * least 1.
   */
  readonly resets_in_seconds: number;
}

/** The answer to GET and PUT /admin/budgets/settings. */
export interface BudgetSettings extends ResetAnchors, TimedAnswer {}
