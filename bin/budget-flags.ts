/**
 * What is typed about budgets, turned into the bodies that the admin API takes, and checked with the
 * parsers that the daemon uses, so that a typing error is told before anything is sent. Pure.
 */
import { type BudgetDefinition, type BudgetKey, parseBudgetKey, parseBudgetWrite } from "../shared/budget.js";
import { amountOf } from "../shared/config/setting-kind.js";
import { type AnchorField, anchorFields, defaultAnchors, parseAnchors } from "../shared/reset-anchors.js";
import type { Checked } from "../shared/checked.js";
import { asNumber, type FromFlags, type Problem } from "./rule-flags.js";

/** The flags that name a budget beside its subject; texts as they were typed. */
export interface BudgetKeyFlags {
  readonly scope?: string;
  readonly period?: string;
  readonly periodSeconds?: string;
}

/** The flags of `budgets set`. `hourly` … `monthly` are period and amount in one word. */
export interface BudgetSetFlags extends BudgetKeyFlags {
  readonly amount?: string;
  readonly perChild?: boolean;
  readonly hourly?: string;
  readonly daily?: string;
  readonly weekly?: string;
  readonly monthly?: string;
}

/** One budget to be written: the body of PUT /admin/budgets and what it says. */
export interface BudgetWrite {
  readonly body: Readonly<Record<string, unknown>>;
  readonly budget: BudgetDefinition;
}

export const shortAmountFlags = ["hourly", "daily", "weekly", "monthly"] as const;

/** What `budgets set` is to write: every budget, or every problem. */
export function budgetWritesFromFlags(subject: string, flags: BudgetSetFlags): FromFlags<readonly BudgetWrite[]> {
  const problems: Problem[] = [...subjectProblems(subject, flags.scope)];
  const typed = [...longForm(flags, problems), ...shortForm(flags)];
  if (typed.length === 0 && problems.length === 0) problems.push({ message: `nothing to set: give --period with --amount, or one of ${shortAmountFlags.map((name) => `--${name}`).join(", ")}`, param: null });
  const writes: BudgetWrite[] = [];
  for (const { budgetKey, amount, flag } of typed) {
    const body = { scope: flags.scope ?? "user_path", subject, budget_key: budgetKey, ...(amount === undefined ? {} : { amount: amountOf(amount) ?? amount }), ...(flags.perChild === true ? { per_child: true } : {}) };
    // Whether per-child is entitled is for the daemon to say: it knows the configuration it runs with.
    const checked = parseBudgetWrite(body, { perChildEntitled: true });
    if (checked.ok) writes.push({ body, budget: checked.value });
    else problems.push(inFlagWords(checked, flag));
  }
  const periods = writes.map(({ budget }) => budget.periodSeconds);
  if (new Set(periods).size < periods.length) problems.push({ message: "one period is given twice, by --period or --period-seconds and by a short flag: give it once", param: "--period" });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: writes };
}

/** What `budgets delete` and `budgets reset` name. */
export function budgetKeyFromFlags(subject: string, flags: BudgetKeyFlags): FromFlags<BudgetKey> {
  const problems = subjectProblems(subject, flags.scope);
  if (problems.length > 0) return { ok: false, problems };
  const checked = parseBudgetKey({ scope: flags.scope ?? "user_path", subject, budget_key: budgetKeyOf(flags) });
  return checked.ok ? { ok: true, value: checked.value } : { ok: false, problems: [inFlagWords(checked, "--amount")] };
}

/** The flag of an anchor: `--daily-reset-hour`; and the name under which commander hands it over. */
export function anchorFlag(name: AnchorField): { readonly flag: string; readonly key: string } {
  return { flag: `--${name.replaceAll("_", "-")}`, key: name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) };
}

/** The anchors that `budgets settings` is to change; none when it only shows them. */
export function anchorsFromFlags(flags: Readonly<Record<string, unknown>>): FromFlags<Readonly<Record<string, unknown>>> {
  const problems: Problem[] = [];
  const body: Record<string, unknown> = {};
  for (const { name } of anchorFields) {
    const { flag, key } = anchorFlag(name);
    const text = flags[key];
    if (typeof text !== "string") continue;
    body[name] = asNumber(text);
    const checked = parseAnchors({ [name]: body[name] }, defaultAnchors);
    if (!checked.ok) problems.push({ message: checked.failure.message.replace(name, flag), param: flag });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: body };
}

interface TypedBudget {
  readonly budgetKey: Readonly<Record<string, unknown>>;
  readonly amount: string | undefined;
  /** Where the amount came from, for messages. */
  readonly flag: string;
}

function longForm(flags: BudgetSetFlags, problems: Problem[]): readonly TypedBudget[] {
  const budgetKey = budgetKeyOf(flags);
  if (Object.keys(budgetKey).length > 0) return [{ budgetKey, amount: flags.amount, flag: "--amount" }];
  if (flags.amount !== undefined) problems.push({ message: "--period or --period-seconds is required beside --amount", param: "--period" });
  return [];
}

function shortForm(flags: BudgetSetFlags): readonly TypedBudget[] {
  return shortAmountFlags.flatMap((name) => (flags[name] === undefined ? [] : [{ budgetKey: { period: name }, amount: flags[name], flag: `--${name}` }]));
}

function budgetKeyOf(flags: BudgetKeyFlags): Readonly<Record<string, unknown>> {
  return {
    ...(flags.period === undefined ? {} : { period: flags.period }),
    ...(flags.periodSeconds === undefined ? {} : { period_seconds: asNumber(flags.periodSeconds) }),
  };
}

/** As for rules: a user path is written with its slash here, so that a label without --scope isn't taken for one. */
function subjectProblems(subject: string, scope: string | undefined): readonly Problem[] {
  const isUserPath = scope === undefined || scope.trim() === "" || scope.trim().toLowerCase() === "user_path";
  if (!isUserPath || subject.trim().startsWith("/")) return [];
  return [{ message: `subject must be a user path such as /team/app, not ${JSON.stringify(subject)}; for a label add --scope label`, param: "subject" }];
}

/** The parser speaks of body fields; at a terminal these are flags. */
function inFlagWords(checked: Extract<Checked<unknown>, { ok: false }>, amountFlag: string): Problem {
  const words: readonly (readonly [field: string, flag: string])[] = [["budget_key.period_seconds", "--period-seconds"], ["budget_key.period", "--period"], ["amount", amountFlag], ["per_child", "--per-child"], ["scope", "--scope"]];
  const { message, param } = checked.failure;
  const [field, flag] = words.find(([name]) => name === param) ?? ["", param];
  const both = field.startsWith("budget_key.") ? message.replaceAll("budget_key.period_seconds", "--period-seconds").replaceAll("budget_key.period", "--period") : message;
  return { message: field === "" || both !== message ? both : message.replace(new RegExp(`\\b${field}\\b`), flag ?? field), param: flag };
}
