/**
 * Budgets: their fields, the checks of bodies, and the names of budgets (`docs/budgets.md`). The
 * key of a budget in a body is in `limit-key.ts`; the daemon owns the spend; the bounds of periods
 * are in `limiterd/budgets/budget-period.ts`.
 */

import { subjectBytesMax } from "../bounds.js";
import { bad, type Checked, good, isAbsent, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { numberAdvice } from "../text/written-number.js";
import {
  type BudgetCalendar,
  calendarFields,
  dailySeconds,
  monthlySeconds,
  parseCalendar,
  perSession,
  quarterlySeconds,
  rollingLabel,
  weeklySeconds,
  yearlySeconds,
} from "./budget-calendar.js";
import { checkHold, type Holdable } from "./hold.js";
import {
  type KeyGrammar,
  type LimitKey,
  parseKey,
  parseResetOne,
  parseUserPath,
  parseWrite,
} from "./limit-key.js";
import { modelPatterns, parseBudgetModels, subjectWithModels } from "./limited-models.js";
import { type MoneySum, picoFromUsd, sumFromUsd } from "./money.js";
import { type Exhaustible, parseOnExhausted } from "./on-exhausted.js";
import { parseSubject } from "./rule.js";
import { isPrintable } from "./target-name.js";

export const budgetScopes = ["label", "model", "provider", "user_path"] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/** The identity of a budget. Labels are case-sensitive. */
export type BudgetKey = LimitKey<BudgetScope>;

export interface BudgetDefinition extends BudgetKey, BudgetCalendar, Exhaustible, Holdable {
  /** US dollars as in the body: at least one pico-dollar, at most 10^15. */
  readonly amountUsd: number;
  /** User-path budgets only: each direct child of the path has the amount for itself. */
  readonly perChild: boolean;
  /** Whether it admits models without a price; absent: as `budgets.unpriced` says. */
  readonly unpriced?: UnpricedChoice;
}

export const unpricedChoices = ["allow", "refuse"] as const;
export type UnpricedChoice = (typeof unpricedChoices)[number];

const hourlySeconds = 3600;

/** `hourly` to `yearly`, `session`, else `300s`; `rolling 30d` for a rolling budget. */
export function budgetPeriodLabel(periodSeconds: number, isRolling = false): string {
  if (isRolling) return rollingLabel(periodSeconds);
  switch (periodSeconds) {
    case perSession:
      return "session";
    case hourlySeconds:
      return "hourly";
    case dailySeconds:
      return "daily";
    case weeklySeconds:
      return "weekly";
    case monthlySeconds:
      return "monthly";
    case quarterlySeconds:
      return "quarterly";
    case yearlySeconds:
      return "yearly";
    default:
      return `${periodSeconds}s`;
  }
}

/** Whether each session of an agent has the amount for itself. */
export function isPerSession({ periodSeconds }: Pick<BudgetKey, "periodSeconds">): boolean {
  return periodSeconds === perSession;
}

/** The subject used for matching: names of providers and models ignore case. */
export function effectiveBudgetSubject(scope: BudgetScope, subject: string): string {
  return scope === "provider" || scope === "model" ? subject.toLowerCase() : subject;
}

/** The patterns of the targets that a budget is for; null if it is for all. */
export function budgetTargets({ scope, subject, models }: BudgetKey): readonly string[] | null {
  if (scope === "provider") return [`${subject.toLowerCase()}/*`];
  if (scope === "model") return [subject.toLowerCase()];
  return models === undefined ? null : modelPatterns(models);
}

/** The user path that a budget is for; null for a label. */
export function budgetPath({ scope, subject }: BudgetKey): string | null {
  if (scope === "label") return null;
  return scope === "user_path" ? subject : "/";
}

/** The identity as one text; also the key in the store. */
export function budgetId(key: BudgetKey): string {
  const id = `${key.scope}\n${effectiveBudgetSubject(key.scope, key.subject)}\n${key.periodSeconds}`;
  return key.models === undefined ? id : `${id}\n${key.models}`;
}

/** The order of all lists and ties: scope, subject, period, models, ascending. */
export function compareBudgets(a: BudgetKey, b: BudgetKey): number {
  if (a.scope !== b.scope) return a.scope < b.scope ? -1 : 1;
  const subjectA = effectiveBudgetSubject(a.scope, a.subject);
  const subjectB = effectiveBudgetSubject(b.scope, b.subject);
  if (subjectA !== subjectB) return subjectA < subjectB ? -1 : 1;
  if (a.periodSeconds !== b.periodSeconds) return a.periodSeconds - b.periodSeconds;
  const [ofA, ofB] = [a.models ?? "", b.models ?? ""];
  return ofA === ofB ? 0 : ofA < ofB ? -1 : 1;
}

/** A budget's name in messages: `/team daily`, `label research monthly`. */
export function budgetName(key: BudgetKey & Pick<BudgetCalendar, "rolling">): string {
  const period = budgetPeriodLabel(key.periodSeconds, key.rolling);
  return `${key.scope === "user_path" ? "" : `${key.scope} `}${subjectWithModels(key)} ${period}`;
}

/**
 * The amount in the form that spend is compared with: exact to the pico-dollar below 9,000 dollars,
 * to the micro-dollar above, and never 0. An amount beyond the largest sum becomes the largest sum.
 */
export function amountSum(amountUsd: number): MoneySum {
  const pico = picoFromUsd(amountUsd);
  if (pico === null)
    return sumFromUsd(amountUsd) ?? { microUsd: Number.MAX_SAFE_INTEGER, picoUsd: 0 };
  const picoUsd = Math.max(1, pico);
  return { microUsd: Math.floor(picoUsd / 1_000_000), picoUsd: picoUsd % 1_000_000 };
}

/** A pico-dollar, the smallest cost. */
const amountUsdMin = 1e-12;
/** Far more than any spend; up to this amount every figure of a budget is a finite number. */
export const amountUsdMax = 1e15;
const smallestAmount = `${amountUsdMin} US dollars, a pico-dollar, which is the smallest amount that is counted`;

/** Checks an amount of US dollars: at least a pico-dollar, at most 10^15. */
export function parseAmount(value: unknown, param: string): Checked<number> {
  if (value === undefined || value === null)
    return bad(`${param} is required: US dollars, greater than 0`, param);
  if (typeof value === "number" && value >= amountUsdMin && value <= amountUsdMax)
    return good(value);
  if (typeof value === "number" && value > 0 && value < amountUsdMin)
    return bad(`${param} must be at least ${smallestAmount}, not ${show(value)}`, param);
  if (typeof value === "number" && Number.isFinite(value) && value > amountUsdMax)
    return bad(`${param} must be at most ${amountUsdMax} US dollars, not ${show(value)}`, param);
  return bad(
    `${param} must be a finite number of US dollars greater than 0, not ${show(value)}${numberAdvice(value)}`,
    param,
  );
}

/** Checks a label: trimmed, case-sensitive. */
function parseLabel(raw: unknown, param: string): Checked<string> {
  if (typeof raw !== "string" || raw.trim() === "")
    return bad(`${param} is required for the scope label`, param);
  const label = raw.trim();
  if (utf8Bytes(label) > subjectBytesMax)
    return bad(`${param} must be at most ${subjectBytesMax} bytes`, param);
  if (!isPrintable(label)) return bad(`${param} must not hold control characters`, param);
  return good(label);
}

/** The form of a budget's key in bodies. */
export const budgetGrammar: KeyGrammar<BudgetScope> = {
  plural: "budgets",
  scopes: budgetScopes,
  scopesExpected: "user_path, label, provider or model",
  periodField: "budget_key",
  periodNames: {
    hourly: hourlySeconds,
    hour: hourlySeconds,
    hours: hourlySeconds,
    daily: dailySeconds,
    day: dailySeconds,
    days: dailySeconds,
    weekly: weeklySeconds,
    week: weeklySeconds,
    weeks: weeklySeconds,
    monthly: monthlySeconds,
    month: monthlySeconds,
    months: monthlySeconds,
    quarterly: quarterlySeconds,
    quarter: quarterlySeconds,
    quarters: quarterlySeconds,
    yearly: yearlySeconds,
    year: yearlySeconds,
    years: yearlySeconds,
    session: perSession,
    sessions: perSession,
  },
  periodsExpected: "hourly, daily, weekly, monthly, quarterly, yearly, session",
  secondsMin: perSession,
  secondsExpected: "0 (session)",
  pathPeriods: [perSession],
  keyFields: ["models"],
  pathFields: ["models"],
  parseModels: parseBudgetModels,
  listedFields: ["per_child", "unpriced", ...calendarFields],
  parseSubject: (scope, raw, param) => {
    if (scope === "user_path") return parseUserPath(raw, param);
    return scope === "label" ? parseLabel(raw, param) : parseSubject(scope, raw, param);
  },
};

/** Checks the body of PUT /admin/budgets. The caller decides whether `per_child` is allowed. */
export function parseBudgetWrite(
  body: unknown,
  options: { readonly perChildEntitled: boolean },
): Checked<BudgetDefinition> {
  return parseWrite(
    budgetGrammar,
    {
      fields: ["amount", "unpriced", ...calendarFields, "on_exhausted", "hold"],
      parse: parseBudgetValues,
    },
    body,
    options,
  );
}

function parseBudgetValues(
  fields: Readonly<Record<string, unknown>>,
  periodSeconds: number,
): Checked<
  { amountUsd: number; unpriced?: UnpricedChoice } & BudgetCalendar & Exhaustible & Holdable
> {
  const amount = parseAmount(fields["amount"], "amount");
  if (!amount.ok) return amount;
  const unpriced = parseUnpriced(fields["unpriced"], "unpriced");
  if (!unpriced.ok) return unpriced;
  const calendar = parseCalendar(fields, periodSeconds);
  if (!calendar.ok) return calendar;
  const exhausted = parseOnExhausted(fields["on_exhausted"], "on_exhausted");
  if (!exhausted.ok) return exhausted;
  const hold = checkHold(fields["hold"], exhausted.value, "hold");
  if (!hold.ok) return hold;
  return good({
    amountUsd: amount.value,
    ...unpriced.value,
    ...calendar.value,
    ...exhausted.value,
    ...hold.value,
  });
}

/** Checks `unpriced`, which may be absent. */
export function parseUnpriced(
  value: unknown,
  param: string,
): Checked<{ readonly unpriced?: UnpricedChoice }> {
  if (isAbsent(value)) return good({});
  const unpriced = unpricedChoices.find((choice) => choice === value);
  return unpriced === undefined
    ? bad(`${param} must be ${unpricedChoices.join(" or ")}, not ${show(value)}`, param)
    : good({ unpriced });
}

/** The body of DELETE /admin/budgets. */
export function parseBudgetKey(body: unknown): Checked<BudgetKey> {
  return parseKey(budgetGrammar, body);
}

/** The body of POST /admin/budgets/reset-one. */
export function parseBudgetResetOne(body: unknown): Checked<BudgetKey> {
  return parseResetOne(budgetGrammar, body);
}
