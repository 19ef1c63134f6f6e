/**
 * Which rules and budgets are inert, that is, loaded but never enforced, and why; operators must be
 * able to see them. Only the configuration decides: a rule that no request has matched yet isn't
 * inert.
 */
import { type BudgetKey, budgetPeriodLabel } from "../domain/budget.js";
import { modelPatterns, namesTools, subjectWithModels } from "../domain/limited-models.js";
import { namesProvider, periodLabel, type RuleDefinition } from "../domain/rule.js";
import type { Target } from "../domain/target-name.js";
import type { Config } from "./config.js";
import { ModelFilter } from "./model-filter.js";
import { isMovingAlias, modelName, modelSubjects, namingsOf } from "./model-name.js";

/** An inert rule or budget; `name` is its name and the reason, on one line. */
export interface Inert {
  readonly kind: "rule" | "budget";
  readonly name: string;
}

/** Why a rule is inert, or null if it is enforced. */
export type InertReason = (rule: RuleDefinition) => string | null;

/** The id in `models: ["*"]`, which allows any id. */
const anyId = "*";

/** Returns the reasons for one configuration. As in matching, letter case doesn't matter. */
export function createInertReason({
  usageEnabled,
  providers,
  virtualModels,
  aliases = [],
  mcpServers = [],
}: Pick<Config, "usageEnabled" | "providers" | "virtualModels"> &
  Partial<Pick<Config, "aliases" | "mcpServers">>): InertReason {
  const namings = namingsOf([...providers, ...mcpServers]);
  const serverNamings = namingsOf(mcpServers);
  /** A server may have any tool. */
  const mayBeTool = (pattern: string): boolean =>
    namesProvider(pattern, serverNamings) ||
    (pattern.endsWith("*") &&
      mcpServers.some(({ name }) => `${name}/`.startsWith(pattern.slice(0, -1))));
  /**
   * Whether any id may be a model: a provider accepts any id, or only proxies know its list, or an
   * alias with a prefix passes names on unchanged.
   */
  const anyModel =
    providers.some(({ models }) => models === null || models.includes(anyId)) ||
    aliases.some(({ to }) => to.kind === "target" && to.model === null);
  const models = new Set<string>();
  const targets: Target[] = [];
  const add = (provider: string, model: string): void => {
    const naming = namings.get(provider.toLowerCase());
    const name = naming === undefined ? model : modelName(naming, model);
    if (naming !== undefined && isMovingAlias(naming, name)) return;
    if (!namesProvider(name.toLowerCase(), namings)) models.add(name.toLowerCase());
    models.add(`${provider}/${name}`.toLowerCase());
    targets.push({ provider, model: name });
  };
  for (const { name, models: listed } of providers) for (const id of listed ?? []) add(name, id);
  for (const { targets } of virtualModels)
    for (const { provider, model } of targets) add(provider, model);
  for (const { to } of aliases)
    if (to.kind === "target" && to.model !== null) add(to.provider, to.model);
  const isMoving = (subject: string): boolean => {
    const slash = namesProvider(subject, namings) ? subject.indexOf("/") : -1;
    const those = slash === -1 ? namings.values() : [namings.get(subject.slice(0, slash))!];
    return [...those].some((naming) => isMovingAlias(naming, subject.slice(slash + 1)));
  };
  const virtual = new Set(virtualModels.map(({ source }) => source.toLowerCase()));

  return (rule) => {
    const subject = rule.subject.toLowerCase();
    if (rule.scope === "provider" && !namings.has(subject))
      return `no provider ${rule.subject} is configured`;
    if (
      rule.scope === "model" &&
      !namesProvider(subject, serverNamings) &&
      !modelSubjects(subject, namings).some((modelSubject) => models.has(modelSubject))
    ) {
      if (virtual.has(subject))
        return `${rule.subject} is a virtual model, and rules count the model that is executed: only a request for it as provider/model would meet the rule`;
      if (isMoving(modelSubjects(subject, namings)[0]))
        return `${rule.subject} is an alias that its provider moves: requests for it count as the model that executes them, once an answer has said which`;
      if (!anyModel)
        return "no configured provider lists this model and no virtual model targets it: only a request for it as provider/model would meet the rule";
    }
    const isForTools =
      namesTools(rule.models) ||
      (rule.models !== undefined && modelPatterns(rule.models).some(mayBeTool));
    if (rule.models !== undefined && !anyModel && !isForTools) {
      const filter = new ModelFilter(modelPatterns(rule.models), namings);
      if (!targets.some((target) => filter.covers(target)))
        return "no configured provider lists such a model and no virtual model targets one: only a request for it as provider/model would meet the rule";
    }
    return tokensInert(rule, usageEnabled);
  };
}

/** Why a rule's token limit isn't enforced; null if it is. */
export function tokensInert(
  { maxTokens, measureCaps = {} }: RuleDefinition,
  usageEnabled: boolean,
): string | null {
  if (usageEnabled) return null;
  const { cost, ...tokens } = measureCaps;
  if (maxTokens !== null || Object.keys(tokens).length > 0)
    return "token limits need usage tracking, which is off";
  return cost === undefined ? null : "cost limits need usage tracking, which is off";
}

/**
 * Why budgets aren't enforced; null if they are. Usage records are the only source of the spend.
 */
export function budgetsInert(usageEnabled: boolean): string | null {
  return usageEnabled ? null : "budgets need usage tracking, which is off";
}

export function inertRule(rule: RuleDefinition, reason: string): Inert {
  const name = `${rule.scope} ${subjectWithModels(rule)} ${periodLabel(rule.periodSeconds)}`;
  return { kind: "rule", name: `${name}: ${reason}` };
}

export function inertBudget(budget: BudgetKey, reason: string): Inert {
  const period = budgetPeriodLabel(budget.periodSeconds);
  return {
    kind: "budget",
    name: `${budget.scope} ${subjectWithModels(budget)} ${period}: ${reason}`,
  };
}
