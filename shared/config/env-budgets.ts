/** Budgets from the environment: SET_BUDGET_<PATH> (CONTRACT section 9). How they replace what the file declares is in `file-budgets.ts`. */
import type { BudgetDefinition } from "../budget.js";
import { notEntitled, show } from "../rule.js";
import { normalizeUserPath } from "../user-path.js";
import { budgetLimitKeys, duplicateBudgets, parseBudgetLimit, parseCompactBudgets, type PlacedBudget } from "./budget-limits.js";
import { pathOfSuffix } from "./env-rules.js";
import { type Environment, variable } from "./environment.js";
import { readMapping } from "./read-mapping.js";

export const budgetPrefix = "SET_BUDGET_";

/** All that one variable says about one path: its budgets take the place of the file's. */
export interface EnvBudgets {
  readonly variable: string;
  readonly path: string;
  readonly budgets: readonly BudgetDefinition[];
}

/** The budgets of all variables, in the order of the variables' names. Problems name the variable. */
export function readEnvBudgets(env: Environment, options: { readonly perChildEntitled: boolean }, problems: string[]): readonly EnvBudgets[] {
  const entries: EnvBudgets[] = [];
  const seen = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const value = variable(env, name);
    if (value === null || !name.startsWith(budgetPrefix)) continue;
    const path = normalizeUserPath(pathOfSuffix(name.slice(budgetPrefix.length)));
    if (!path.ok) {
      problems.push(`the path in ${name} ${path.reason}`);
      continue;
    }
    const earlier = seen.get(path.path);
    if (earlier !== undefined) {
      problems.push(`${name} and ${earlier} are both for ${path.path}: keep one of them`);
      continue;
    }
    seen.set(path.path, name);
    entries.push({ variable: name, path: path.path, budgets: parseValue(value, name, path.path, options.perChildEntitled, problems) });
  }
  return entries;
}

function parseValue(value: string, name: string, path: string, perChildEntitled: boolean, problems: string[]): readonly BudgetDefinition[] {
  if (value.startsWith("[") || value.startsWith("{")) return parseJsonBudgets(value, name, path, perChildEntitled, problems);
  return parseCompactBudgets(value, name, problems).map((limit) => ({ scope: "user_path", subject: path, ...limit, perChild: false }));
}

function parseJsonBudgets(text: string, name: string, path: string, perChildEntitled: boolean, problems: string[]): readonly BudgetDefinition[] {
  let items: unknown;
  try {
    items = JSON.parse(text);
  } catch (cause) {
    problems.push(`${name} must be a list of pairs such as daily=10 or a JSON array of budgets, and nothing else: ${cause instanceof Error ? cause.message : String(cause)}`);
    return [];
  }
  if (!Array.isArray(items)) {
    problems.push(`${name} must be a JSON array of budgets, not ${show(items)}`);
    return [];
  }
  const placed: PlacedBudget[] = [];
  for (const [index, item] of items.entries()) {
    const at = `${name}[${index}]`;
    const fields = readMapping(item, at, [...budgetLimitKeys, "per_child"], problems);
    if (fields === null) continue;
    const perChild = fields["per_child"] ?? false;
    if (typeof perChild !== "boolean") problems.push(`${at}.per_child must be true or false, not ${show(perChild)}`);
    else if (perChild && !perChildEntitled) problems.push(`${at}: ${notEntitled(path).message}`);
    const limit = parseBudgetLimit(fields, at, problems);
    if (limit !== null) placed.push({ at, budget: { scope: "user_path", subject: path, ...limit, perChild: perChild === true } });
  }
  problems.push(...duplicateBudgets(placed));
  return placed.map(({ budget }) => budget);
}
