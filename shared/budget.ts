/**
 * Budgets: what they are, how they are written, checked and named (CONTRACT section 8, SPEC "Budget
 * record"). What was spent isn't here: the daemon owns it. When periods begin and end is in
 * `limiterd/budget-period.ts`.
 */
import { isCount } from "./assert.js";
import { periodSecondsMax, subjectBytesMax } from "./bounds.js";
import { invalid } from "./error-code.js";
import { type MoneySum, picoFromUsd, sumFromUsd } from "./money.js";
import { asObject, type Checked, notEntitled, parseUserPath, present, show } from "./rule.js";
import { utf8Bytes } from "./user-path.js";

export const budgetScopes = ["label", "user_path"] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/** What identifies a budget. A user path is normal; a label stands as it is compared, with its case. */
export interface BudgetKey {
  readonly scope: BudgetScope;
  readonly subject: string;
  readonly periodSeconds: number;
}

export interface BudgetDefinition extends BudgetKey {
  /** US dollars, finite and above 0, as they were written. */
  readonly amountUsd: number;
  /** User-path budgets only: each direct child of the path has the amount for itself. */
  readonly perChild: boolean;
}

export const hourlySeconds = 3600;
export const dailySeconds = 86_400;
export const weeklySeconds = 604_800;
/** Thirty days by its number; the calendar month by its meaning. */
export const monthlySeconds = 2_592_000;

const periodNames: Readonly<Record<string, number>> = {
  hourly: hourlySeconds, hour: hourlySeconds, hours: hourlySeconds,
  daily: dailySeconds, day: dailySeconds, days: dailySeconds,
  weekly: weeklySeconds, week: weeklySeconds, weeks: weeklySeconds,
  monthly: monthlySeconds, month: monthlySeconds, months: monthlySeconds,
};

/** The names that the compact form of a variable takes. */
export const budgetPeriodNames = Object.keys(periodNames);

/** The seconds of a named period; undefined for another text. Any case. */
export function namedBudgetPeriod(text: string): number | undefined {
  const name = text.trim().toLowerCase();
  return Object.hasOwn(periodNames, name) ? periodNames[name] : undefined;
}

/** `hourly`, `daily`, `weekly`, `monthly`, else `300s`. */
export function budgetPeriodLabel(periodSeconds: number): string {
  switch (periodSeconds) {
    case hourlySeconds: return "hourly";
    case dailySeconds: return "daily";
    case weeklySeconds: return "weekly";
    case monthlySeconds: return "monthly";
    default: return `${periodSeconds}s`;
  }
}

/** One text per identity; also the key in the store. */
export function budgetId(key: BudgetKey): string {
  return `${key.scope}\n${key.subject}\n${key.periodSeconds}`;
}

/** The order of every list and every tie: scope, subject, period, ascending. */
export function compareBudgets(a: BudgetKey, b: BudgetKey): number {
  if (a.scope !== b.scope) return a.scope < b.scope ? -1 : 1;
  if (a.subject !== b.subject) return a.subject < b.subject ? -1 : 1;
  return a.periodSeconds - b.periodSeconds;
}

/** A budget as messages call it: `/team daily`, `label research monthly`. */
export function budgetName({ scope, subject, periodSeconds }: BudgetKey): string {
  return `${scope === "label" ? "label " : ""}${subject} ${budgetPeriodLabel(periodSeconds)}`;
}

/** The amount as spend is compared with it: exact to the pico-dollar below 9,000 dollars, to the micro-dollar above, and never 0. What no sum can hold is the largest one, which nobody spends. */
export function amountSum(amountUsd: number): MoneySum {
  const pico = picoFromUsd(amountUsd);
  if (pico === null) return sumFromUsd(amountUsd) ?? { microUsd: Number.MAX_SAFE_INTEGER, picoUsd: 0 };
  const whole = Math.max(1, pico);
  return { microUsd: Math.floor(whole / 1_000_000), picoUsd: whole % 1_000_000 };
}

function good<T>(value: T): Checked<T> {
  return { ok: true, value };
}

function bad<T>(message: string, param: string): Checked<T> {
  return { ok: false, failure: invalid(message, param) };
}

function parsePeriod(period: unknown, param: string): Checked<number> {
  const expected = "must be hourly, daily, weekly, monthly or a number of seconds";
  if (typeof period !== "string") return bad(`${param} ${expected}, not ${show(period)}`, param);
  const named = namedBudgetPeriod(period);
  if (named !== undefined) return good(named);
  return /^\d{1,12}$/.test(period.trim()) ? checkPeriodSeconds(Number(period), param) : bad(`${param} ${expected}, not ${show(period)}`, param);
}

function checkPeriodSeconds(value: unknown, param: string): Checked<number> {
  if (isCount(value, 1) && value <= periodSecondsMax) return good(value);
  return bad(`${param} must be an integer from 1 to ${periodSecondsMax}, not ${show(value)}`, param);
}

/** Exactly one of `period` and `period_seconds`; `at` leads the names in messages (`budget_key.`, or empty). */
export function parseBudgetPeriod(fields: Readonly<Record<string, unknown>>, at: string): Checked<number> {
  const { period = null, period_seconds: periodSeconds = null } = fields;
  if (period !== null && periodSeconds !== null) return bad(`${at}period and ${at}period_seconds exclude each other: give exactly one`, `${at}period`);
  if (period === null && periodSeconds === null) return bad(`${at}period or ${at}period_seconds is required`, `${at}period`);
  return period !== null ? parsePeriod(period, `${at}period`) : checkPeriodSeconds(periodSeconds, `${at}period_seconds`);
}

/** An amount of US dollars: finite and above 0. */
export function parseAmount(value: unknown, param: string): Checked<number> {
  if (value === undefined || value === null) return bad(`${param} is required: US dollars, greater than 0`, param);
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return good(value);
  return bad(`${param} must be a finite number of US dollars greater than 0, not ${show(value)}`, param);
}

/** A label: trimmed, compared with its case. */
export function parseLabel(raw: unknown, param: string): Checked<string> {
  if (typeof raw !== "string" || raw.trim() === "") return bad(`${param} is required for the scope label`, param);
  const label = raw.trim();
  if (utf8Bytes(label) > subjectBytesMax) return bad(`${param} must be at most ${subjectBytesMax} bytes`, param);
  if (/\p{Cc}/u.test(label)) return bad(`${param} must not hold control characters`, param);
  return good(label);
}

function parseScope(raw: unknown): Checked<BudgetScope> {
  const text = raw === undefined || raw === null ? "" : typeof raw === "string" ? raw.trim().toLowerCase() : null;
  const scope = text === "" ? "user_path" : budgetScopes.find((known) => known === text);
  return scope === undefined ? bad(`scope must be user_path or label, not ${show(raw)}`, "scope") : good(scope);
}

/** Scope and subject of a body, with `user_path` as the shorthand that SPEC gives rules. */
function parseTarget({ scope: rawScope, subject, user_path: userPath }: Readonly<Record<string, unknown>>): Checked<{ scope: BudgetScope; subject: string }> {
  const scope = parseScope(rawScope);
  if (!scope.ok) return scope;
  if (scope.value === "label") {
    if (present(userPath)) return bad("user_path can't be combined with the scope label: use subject", "user_path");
    const label = parseLabel(subject, "subject");
    return label.ok ? good({ scope: "label", subject: label.value }) : label;
  }
  const given = present(subject) ? { raw: subject, param: "subject" } : present(userPath) ? { raw: userPath, param: "user_path" } : { raw: "/", param: "subject" };
  const path = parseUserPath(given.raw, given.param);
  return path.ok ? good({ scope: "user_path", subject: path.value }) : path;
}

/** The body of PUT /admin/budgets, checked. */
export function parseBudgetWrite(body: unknown, options: { readonly perChildEntitled: boolean }): Checked<BudgetDefinition> {
  const fields = asObject(body, ["user_path", "scope", "subject", "per_child", "budget_key", "amount"]);
  if (!fields.ok) return fields;
  const key = parseKeyFields(fields.value);
  if (!key.ok) return key;
  const amount = parseAmount(fields.value["amount"], "amount");
  if (!amount.ok) return amount;
  const perChild = fields.value["per_child"] ?? false;
  if (typeof perChild !== "boolean") return bad(`per_child must be true or false, not ${show(perChild)}`, "per_child");
  if (perChild && key.value.scope !== "user_path") return bad("per_child is for user-path budgets only", "per_child");
  if (perChild && !options.perChildEntitled) return { ok: false, failure: notEntitled(key.value.subject) };
  return good({ ...key.value, amountUsd: amount.value, perChild });
}

/** The body of DELETE /admin/budgets: what identifies the budget. */
export function parseBudgetKey(body: unknown): Checked<BudgetKey> {
  const fields = asObject(body, ["user_path", "scope", "subject", "per_child", "budget_key"]);
  return fields.ok ? parseKeyFields(fields.value) : fields;
}

function parseKeyFields(fields: Readonly<Record<string, unknown>>): Checked<BudgetKey> {
  const target = parseTarget(fields);
  if (!target.ok) return target;
  if (!present(fields["budget_key"])) return bad("budget_key is required: an object with period or period_seconds", "budget_key");
  const budgetKey = asObject(fields["budget_key"], ["period", "period_seconds"], "budget_key.");
  if (!budgetKey.ok) return budgetKey;
  const period = parseBudgetPeriod(budgetKey.value, "budget_key.");
  return period.ok ? good({ ...target.value, periodSeconds: period.value }) : period;
}

/** The body of POST /admin/budgets/reset-one: the period at the top level, or a `budget_key` as elsewhere. */
export function parseBudgetResetOne(body: unknown): Checked<BudgetKey> {
  const fields = asObject(body, ["user_path", "scope", "subject", "period", "period_seconds", "budget_key"]);
  if (!fields.ok) return fields;
  const { period, period_seconds: periodSeconds, budget_key: budgetKey, ...rest } = fields.value;
  if (budgetKey !== undefined && (period !== undefined || periodSeconds !== undefined)) return bad("budget_key and period exclude each other: give exactly one", "budget_key");
  if (budgetKey !== undefined) return parseKeyFields({ ...rest, budget_key: budgetKey });
  const target = parseTarget(rest);
  if (!target.ok) return target;
  const seconds = parseBudgetPeriod({ period, period_seconds: periodSeconds }, "");
  return seconds.ok ? good({ ...target.value, periodSeconds: seconds.value }) : seconds;
}
