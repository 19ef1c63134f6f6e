/**
 * The limits of budgets, `{period or period_seconds, models, amount, unpriced, time_zone, …}` or
 * the compact `daily=10, weekly=50`, as the file and the variables write them
 * (docs/reference/configuration.md). `../../domain/budget.ts` checks single values, as for the
 * admin API.
 */

import {
  type BudgetScope,
  budgetGrammar,
  budgetId,
  budgetName,
  parseAmount,
  parseUnpriced,
  type UnpricedChoice,
} from "../../domain/budget.js";
import { type BudgetCalendar, parseCalendar } from "../../domain/budget-calendar.js";
import { checkHold, type Holdable } from "../../domain/hold.js";
import { namedPeriod, parsePeriod, periodProblem } from "../../domain/limit-key.js";
import { type LimitedModels, parseBudgetModels } from "../../domain/limited-models.js";
import { type Exhaustible, parseOnExhausted } from "../../domain/on-exhausted.js";
import { boolean } from "../kinds/choice-kinds.js";
import { amountOf, numberOf } from "../kinds/number-kinds.js";
import type { Mapping } from "../read-mapping.js";
import { checkedValue, type LimitForm, readPairs } from "./limit-form.js";

interface BudgetLimit extends BudgetCalendar, Holdable {
  readonly periodSeconds: number;
  readonly models?: LimitedModels | undefined;
  readonly amountUsd: number;
  readonly unpriced?: UnpricedChoice;
  readonly onExhausted?: Exhaustible["onExhausted"];
}

const example = "daily=10";

export const budgetForm: LimitForm<BudgetScope, BudgetLimit> = {
  grammar: budgetGrammar,
  singular: "budget",
  fields: {
    period: null,
    period_seconds: numberOf,
    models: null,
    amount: amountOf,
    unpriced: null,
    time_zone: null,
    anchor_day: numberOf,
    rolling: (raw) => boolean.parse(raw),
    rollover: numberOf,
    on_exhausted: null,
    hold: null,
  },
  parse: parseLimit,
  variables: [
    { prefix: "SET_BUDGET_", scope: "user_path" },
    { prefix: "SET_PROVIDER_BUDGET_", scope: "provider" },
  ],
  example,
  parseCompact,
  id: budgetId,
  name: budgetName,
};

function parseLimit(fields: Mapping, path: string, problems: string[]): BudgetLimit | null {
  const periodSeconds = checkedValue(parsePeriod(budgetGrammar, fields, `${path}.`), problems);
  const amountUsd = checkedValue(parseAmount(fields["amount"], `${path}.amount`), problems);
  const unpriced = checkedValue(parseUnpriced(fields["unpriced"], `${path}.unpriced`), problems);
  const before = problems.length;
  const models = checkedValue(parseBudgetModels(fields["models"], `${path}.models`), problems);
  const calendar =
    periodSeconds === null
      ? null
      : checkedValue(parseCalendar(fields, periodSeconds, `${path}.`), problems);
  const exhausted = checkedValue(
    parseOnExhausted(fields["on_exhausted"], `${path}.on_exhausted`),
    problems,
  );
  const hold =
    exhausted === null
      ? null
      : checkedValue(checkHold(fields["hold"], exhausted, `${path}.hold`), problems);
  return periodSeconds === null ||
    exhausted === null ||
    hold === null ||
    amountUsd === null ||
    unpriced === null ||
    calendar === null ||
    problems.length > before
    ? null
    : {
        periodSeconds,
        amountUsd,
        ...unpriced,
        ...(typeof models === "string" ? { models } : {}),
        ...calendar,
        ...exhausted,
        ...hold,
      };
}

/** Parses the compact form. Of two amounts for one period the last wins. */
function parseCompact(
  text: string,
  variable: string,
  problems: string[],
  scope: BudgetScope,
): readonly BudgetLimit[] {
  const byPeriod = new Map<number, number>();
  for (const { name, value } of readPairs(
    text,
    { variable, example, keys: Object.keys(budgetGrammar.periodNames) },
    problems,
  )) {
    const amount = checkedValue(
      parseAmount(amountOf(value) ?? value, `${variable}: ${name}`),
      problems,
    );
    const periodSeconds = namedPeriod(budgetGrammar, name)!;
    const problem = periodProblem(budgetGrammar, scope, periodSeconds);
    if (problem !== null) problems.push(`${variable}: ${problem}`);
    else if (amount !== null) byPeriod.set(periodSeconds, amount);
  }
  return [...byPeriod]
    .sort(([a], [b]) => a - b)
    .map(([periodSeconds, amountUsd]) => ({ periodSeconds, amountUsd }));
}
