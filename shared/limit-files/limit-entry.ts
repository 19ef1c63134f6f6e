/**
 * Rules and budgets in the form of bodies of the admin API (docs/reference/admin-api.md, "PUT"):
 * without counters, and without fields that don't apply.
 */

import type { Checked } from "../checked.js";
import {
  type BudgetDefinition,
  type BudgetScope,
  budgetGrammar,
  budgetPeriodLabel,
  parseBudgetWrite,
  type UnpricedChoice,
} from "../domain/budget.js";
import { type CalendarFields, calendarBody, calendarFields } from "../domain/budget-calendar.js";
import { type HoldField, holdField } from "../domain/hold.js";
import { type KeyGrammar, type ModeField, modeField } from "../domain/limit-key.js";
import { modelsField } from "../domain/limited-models.js";
import { type ExhaustedField, exhaustedField } from "../domain/on-exhausted.js";
import {
  type CapFields,
  capFieldNames,
  capFields,
  parseRuleWrite,
  periodLabel,
  type RuleDefinition,
  ruleGrammar,
  type Scope,
} from "../domain/rule.js";
import { type WhenField, whenField } from "../domain/rule-hours.js";

/** A period by its name where it has one. */
export type EntryPeriod = { readonly period: string } | { readonly period_seconds: number };

interface EntryKey<S extends string> {
  readonly scope: S;
  readonly subject: string;
  readonly per_child?: true;
}

interface RuleEntry extends EntryKey<Scope>, CapFields, ModeField {
  readonly limit_key: EntryPeriod;
  readonly models?: readonly string[];
  readonly when?: WhenField;
  readonly host_only?: true;
}

interface BudgetEntry extends EntryKey<BudgetScope>, CalendarFields, ExhaustedField, HoldField {
  readonly budget_key: EntryPeriod;
  readonly models?: readonly string[];
  readonly amount: number;
  readonly unpriced?: UnpricedChoice;
}

export function ruleEntry(rule: RuleDefinition): RuleEntry {
  const { scope, subject, periodSeconds, models, when, perChild, hostOnly } = rule;
  return {
    scope,
    subject,
    ...(perChild ? { per_child: true } : {}),
    limit_key: periodOf(ruleGrammar, periodSeconds, periodLabel),
    ...modelsField(models),
    ...whenField(when),
    ...modeField(rule),
    ...capFields(rule),
    ...(hostOnly === true ? { host_only: true } : {}),
  };
}

export function budgetEntry(budget: BudgetDefinition): BudgetEntry {
  const { scope, subject, periodSeconds, models, amountUsd, perChild, unpriced } = budget;
  return {
    scope,
    subject,
    ...(perChild ? { per_child: true } : {}),
    budget_key: periodOf(budgetGrammar, periodSeconds, budgetPeriodLabel),
    ...modelsField(models),
    amount: amountUsd,
    ...(unpriced === undefined ? {} : { unpriced }),
    ...calendarBody(budget),
    ...exhaustedField(budget),
    ...holdField(budget),
  };
}

function periodOf(
  { periodNames }: Pick<KeyGrammar<string>, "periodNames">,
  seconds: number,
  labelOf: (seconds: number) => string,
): EntryPeriod {
  const label = labelOf(seconds);
  return periodNames[label] === seconds ? { period: label } : { period_seconds: seconds };
}

type Item = Readonly<Record<string, unknown>>;

/** The rule for an item of a list. */
export function ruleOfItem(item: Item): Checked<RuleDefinition> {
  const { models, when, mode, host_only } = item;
  const caps = Object.fromEntries(capFieldNames.map((name) => [name, item[name]]));
  return parseRuleWrite(
    { ...keyOfItem(item, ruleGrammar), models, when, mode, ...caps, host_only },
    { perChildEntitled: true },
  );
}

/** As `ruleOfItem`, for a budget. */
export function budgetOfItem(item: Item): Checked<BudgetDefinition> {
  const { models, amount, unpriced, on_exhausted, hold } = item;
  const calendar = Object.fromEntries(calendarFields.map((name) => [name, item[name]]));
  return parseBudgetWrite(
    {
      ...keyOfItem(item, budgetGrammar),
      models,
      amount,
      unpriced,
      ...calendar,
      on_exhausted,
      hold,
    },
    { perChildEntitled: true },
  );
}

function keyOfItem(
  { scope, subject, per_child, period_seconds }: Item,
  { periodField }: Pick<KeyGrammar<string>, "periodField">,
): Item {
  return { scope, subject, per_child, [periodField]: { period_seconds } };
}
