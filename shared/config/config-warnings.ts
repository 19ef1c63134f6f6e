/** What doesn't stop a start but would otherwise go wrong in silence. Each warning is one log line. */
import { type BudgetDefinition, budgetName } from "../budget.js";
import type { RuleDefinition } from "../rule.js";
import type { PriceConfig } from "./config.js";
import { closestName, nameHint } from "./closest-name.js";
import { type Environment, variable } from "./environment.js";
import { budgetForm } from "./budget-limits.js";
import { ruleForm, ruleName } from "./limit-fields.js";
import { configFileVariable, settings } from "./settings.js";

/** SPEC "Limits" rule 10: token limits need usage tracking. One warning names them all. */
export function tokenRuleWarnings(rules: readonly RuleDefinition[], usageEnabled: boolean): readonly string[] {
  const inert = usageEnabled ? [] : rules.filter(({ maxTokens }) => maxTokens !== null);
  return inert.length === 0 ? [] : [`token limits need usage.enabled: max_tokens isn't enforced for ${inert.map(ruleName).join(", ")}`];
}

/** Budgets are computed from usage records. One warning names them all. */
export function budgetWarnings(budgets: readonly BudgetDefinition[], usageEnabled: boolean): readonly string[] {
  return usageEnabled || budgets.length === 0 ? [] : [`budgets need usage.enabled: these aren't enforced: ${budgets.map(budgetName).join(", ")}`];
}

/** Rules limit nothing and prices price nothing for providers that nobody configured. Names are compared without case. */
export function providerWarnings(rules: readonly RuleDefinition[], prices: readonly PriceConfig[], providerNames: readonly string[]): readonly string[] {
  const known = new Set(providerNames.map((name) => name.toLowerCase()));
  const missing = (what: string, does: string, named: readonly string[]): readonly string[] =>
    [...new Set(named.filter((name) => !known.has(name.toLowerCase())))].map((name) => {
      const close = closestName(name, providerNames);
      return `the ${what} for the provider ${name} ${does} nothing: no such provider is configured${close === null ? "" : `; did you mean ${close}?`}`;
    });
  return [
    ...missing("rules", "limit", rules.filter(({ scope }) => scope === "provider").map(({ subject }) => subject)),
    ...missing("prices", "price", prices.map(({ provider }) => provider)),
  ];
}

const limitVariables = [ruleForm, budgetForm].flatMap(({ singular, variables }) => variables.map(({ prefix, scope }) => ({ singular, prefix, scope })));

/** Variables that look like ours and aren't. */
export function variableWarnings(env: Environment): readonly string[] {
  const known = [configFileVariable, ...Object.values(settings).flatMap(({ env: name }) => name ?? [])];
  const ours = known.filter((name) => name.startsWith("SLUICE_"));
  const warnings: string[] = [];
  for (const name of Object.keys(env).sort()) {
    if (variable(env, name) === null) continue;
    if (name.startsWith("SLUICE_") && !known.includes(name)) warnings.push(`${name} is ignored: it is not a known variable${nameHint(name, ours)}`);
    // The prefix of a variable for limits, without its last underscore.
    const almost = limitVariables.find(({ prefix }) => name === prefix.slice(0, -1));
    if (almost !== undefined) warnings.push(`${name} is ignored: ${almost.scope === "user_path" ? `the ${almost.singular} for the root path is ${almost.prefix}, with its last underscore` : `write ${almost.prefix}<NAME>`}`);
  }
  return warnings;
}
