/** The budgets that the file declares under `budgets`, checked (CONTRACT sections 8 and 9). */
import { type BudgetDefinition, parseLabel } from "../budget.js";
import { notEntitled, show } from "../rule.js";
import { normalizeUserPath } from "../user-path.js";
import { duplicateBudgets, parseBudgetLimit, type PlacedBudget } from "./budget-limits.js";
import type { DeclaredBudgets } from "./config-file.js";
import type { EnvBudgets } from "./env-budgets.js";
import type { Mapping } from "./read-mapping.js";
import { amountOf, numberOf } from "./setting-kind.js";

/** Checks the declared entries. The same identity in two places is a problem that names both. */
export function readFileBudgets(entries: readonly DeclaredBudgets[], options: { readonly perChildEntitled: boolean }, problems: string[]): readonly BudgetDefinition[] {
  const placed: PlacedBudget[] = [];
  for (const entry of entries) {
    const subject = parseEntrySubject(entry, problems);
    if (subject !== null && entry.perChild && !options.perChildEntitled) problems.push(`${entry.at}: ${notEntitled(subject).message}`);
    for (const { at, fields } of entry.limits) {
      const limit = parseBudgetLimit(withNumbers(fields), at, problems);
      if (limit !== null && subject !== null) placed.push({ at, budget: { scope: entry.scope, subject, ...limit, perChild: entry.perChild } });
    }
  }
  problems.push(...duplicateBudgets(placed));
  return placed.map(({ budget }) => budget);
}

function parseEntrySubject({ at, scope, subject }: DeclaredBudgets, problems: string[]): string | null {
  if (subject === null) return null;
  if (scope === "label") {
    const label = parseLabel(subject, `${at}.label`);
    if (label.ok) return label.value;
    problems.push(label.failure.message);
    return null;
  }
  const path = normalizeUserPath(subject);
  if (path.ok) return path.path;
  problems.push(`${at}.path ${path.reason}, as ${show(subject)} does`);
  return null;
}

/** Numbers may come as texts, which is what `${NAME}` leaves. A text that is no number stays, to be told as it is. */
function withNumbers(fields: Mapping): Mapping {
  const { period_seconds: periodSeconds, amount } = fields;
  return { ...fields, period_seconds: numberOf(periodSeconds) ?? periodSeconds, amount: amountOf(amount) ?? amount };
}

/** An environment entry replaces all that the file says about its path. */
export function mergeBudgets(fromFile: readonly BudgetDefinition[], fromEnv: readonly EnvBudgets[]): readonly BudgetDefinition[] {
  const replaced = new Set(fromEnv.map(({ path }) => path));
  const kept = fromFile.filter(({ scope, subject }) => scope !== "user_path" || !replaced.has(subject));
  return [...kept, ...fromEnv.flatMap(({ budgets }) => budgets)];
}
