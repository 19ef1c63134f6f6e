/**
 * What doesn't stop a start but would otherwise go wrong in silence. Each warning is one log line.
 */
import { type BudgetDefinition, budgetName } from "../../domain/budget.js";
import type { RuleDefinition } from "../../domain/rule.js";
import { closestName, nameHint } from "../closest-name.js";
import type { PriceConfig } from "../config.js";
import { type Environment, variable } from "../environment.js";
import { budgetForm } from "../limits/budget-limits.js";
import { ruleForm, ruleName } from "../limits/rule-limits.js";
import { configFileVariable, settings } from "../settings/settings.js";

/** SPEC "Limits" rule 10: token limits need usage tracking. One warning names them all. */
export function tokenRuleWarnings(
  rules: readonly RuleDefinition[],
  usageEnabled: boolean,
): readonly string[] {
  const inert = usageEnabled ? [] : rules.filter(({ maxTokens }) => maxTokens !== null);
  return inert.length === 0
    ? []
    : [
        `token limits need usage.enabled: max_tokens isn't enforced for ${inert.map(ruleName).join(", ")}`,
      ];
}

/** Budgets are computed from usage records. One warning names them all. */
export function budgetWarnings(
  budgets: readonly BudgetDefinition[],
  usageEnabled: boolean,
): readonly string[] {
  return usageEnabled || budgets.length === 0
    ? []
    : [`budgets need usage.enabled: these aren't enforced: ${budgets.map(budgetName).join(", ")}`];
}

/**
 * Rules limit nothing and prices price nothing for providers that nobody configured. Names are
 * compared without case.
 */
export function providerWarnings(
  rules: readonly RuleDefinition[],
  prices: readonly PriceConfig[],
  providerNames: readonly string[],
): readonly string[] {
  const known = new Set(providerNames.map((name) => name.toLowerCase()));
  const missing = (what: string, does: string, named: readonly string[]): readonly string[] =>
    [...new Set(named.filter((name) => !known.has(name.toLowerCase())))].map((name) => {
      const close = closestName(name, providerNames);
      return `the ${what} for the provider ${name} ${does} nothing: no such provider is configured${close === null ? "" : `; did you mean ${close}?`}`;
    });
  return [
    ...missing(
      "rules",
      "limit",
      rules.filter(({ scope }) => scope === "provider").map(({ subject }) => subject),
    ),
    ...missing(
      "prices",
      "price",
      prices.map(({ provider }) => provider),
    ),
  ];
}

const limitVariables = [ruleForm, budgetForm].flatMap(({ singular, variables }) =>
  variables.map(({ prefix, scope }) => ({
    singular,
    prefix,
    scope,
    shown: `${prefix}<${scope === "user_path" ? "PATH" : "NAME"}>`,
  })),
);

/** Variables that look like ours and aren't. */
export function variableWarnings(env: Environment): readonly string[] {
  const known = [
    configFileVariable,
    ...Object.values(settings).flatMap(({ env: name }) => name ?? []),
  ];
  return Object.keys(env)
    .sort()
    .flatMap((name) => {
      const remark =
        variable(env, name) === null || known.includes(name) ? null : remarkOn(name, known);
      return remark === null ? [] : [`${name} is ignored: ${remark}`];
    });
}

function remarkOn(name: string, known: readonly string[]): string | null {
  if (name.startsWith("SLUICE_"))
    return `it is not a known variable${nameHint(
      name,
      known.filter((other) => other.startsWith("SLUICE_")),
    )}`;
  if (limitVariables.some(({ prefix }) => name.startsWith(prefix))) return null;
  const unended = limitVariables.find(({ prefix }) => name === prefix.slice(0, -1));
  if (unended !== undefined)
    return unended.scope === "user_path"
      ? `the ${unended.singular} for the root path is ${unended.prefix}, with its last underscore`
      : `write ${unended.shown}`;
  const slip = limitVariables.find(
    ({ prefix }) => closestName(name.slice(0, prefix.length), [prefix]) !== null,
  );
  if (slip !== undefined) return `did you mean ${slip.shown}?`;
  if (/^SET_.*(?:RATE_LIMIT|BUDGET)/.test(name))
    return `it is not a known variable: expected ${limitVariables.map(({ shown }) => shown).join(", ")}`;
  // A name of one word may be anybody's.
  const close = name.includes("_")
    ? closestName(
        name,
        known.filter((other) => other.includes("_")),
      )
    : null;
  return close === null ? null : `did you mean ${close}?`;
}
