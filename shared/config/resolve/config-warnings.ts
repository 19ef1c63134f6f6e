/** Warnings: mistakes that don't prevent a start, but have no effect. Each is one log line. */
import { type BudgetDefinition, budgetName } from "../../domain/budget.js";
import type { RuleDefinition } from "../../domain/rule.js";
import { closestName, didYouMean } from "../closest-name.js";
import type { Config, PriceConfig, ProviderConfig } from "../config.js";
import { type Environment, variable } from "../environment.js";
import { alertsVariable } from "../file/read-alerts.js";
import { tokensInert } from "../inert-rule.js";
import { budgetForm } from "../limits/budget-limits.js";
import { ruleForm, ruleName } from "../limits/rule-limits.js";
import { presetAt } from "../presets.js";
import {
  clusterSettings,
  configFileVariable,
  followVariables,
  remoteVariables,
  serviceVariables,
  settings,
} from "../settings/settings.js";

/**
 * Limits of tokens and cost need usage tracking (docs/reference/configuration.md). One warning
 * names all such rules.
 */
export function tokenRuleWarnings(
  rules: readonly RuleDefinition[],
  usageEnabled: boolean,
): readonly string[] {
  const inert = rules.filter((rule) => tokensInert(rule, usageEnabled) !== null);
  return inert.length === 0
    ? []
    : [
        `limits of tokens and cost need usage.enabled: these aren't enforced: ${inert.map(ruleName).join(", ")}`,
      ];
}

/** Budgets are computed from usage records. One warning names all of them. */
export function budgetWarnings(
  budgets: readonly BudgetDefinition[],
  usageEnabled: boolean,
): readonly string[] {
  return usageEnabled || budgets.length === 0
    ? []
    : [`budgets need usage.enabled: these aren't enforced: ${budgets.map(budgetName).join(", ")}`];
}

/** Paths with `*`, which isn't a pattern: such a rule or budget counts no request. */
export function starWarnings(
  rules: readonly RuleDefinition[],
  budgets: readonly BudgetDefinition[],
): readonly string[] {
  const namedLimits = [
    ...rules.map((rule) => ({ ...rule, kind: "rule", name: ruleName(rule) })),
    ...budgets.map((budget) => ({ ...budget, kind: "budget", name: budgetName(budget) })),
  ];
  return namedLimits
    .filter(({ scope, subject }) => scope === "user_path" && /\/\*+(?:\/|$)/.test(subject))
    .map(
      ({ subject, kind, name }) =>
        `the ${kind} ${name} is of the path with this name alone, because * is no pattern: for each child write path: ${subject.replace(/\/\*.*$/, "") || "/"} and per_child: true`,
    );
}

/** Public services whose addresses are written without TLS: keys would travel in the clear. */
export function clearTextWarnings(providers: readonly ProviderConfig[]): readonly string[] {
  return providers
    .filter(({ baseUrl }) => baseUrl.startsWith("http://"))
    .flatMap(({ name, baseUrl }) => {
      const service = presetAt(baseUrl)?.baseUrl ?? null;
      return service === null || !service.startsWith("https://")
        ? []
        : [
            `providers.${name}.base_url begins with http://, so keys and prompts aren't encrypted: write https://${baseUrl.slice("http://".length)}`,
          ];
    });
}

/**
 * Rules and prices for providers that aren't configured, and rules for models whose name begins
 * with a misspelt one. Letter case doesn't matter.
 */
export function providerWarnings(
  rules: readonly RuleDefinition[],
  prices: readonly PriceConfig[],
  providerNames: readonly string[],
): readonly string[] {
  const knownProviders = new Set(providerNames.map((name) => name.toLowerCase()));
  const missing = (kind: string, does: string, keyName0: readonly string[]): readonly string[] =>
    [...new Set(keyName0.filter((name) => !knownProviders.has(name.toLowerCase())))].map((name) => {
      const hint = didYouMean(name, providerNames);
      const ineffective = `the ${kind} for the provider ${name} ${does} nothing`;
      return `${ineffective}: no such provider is configured${hint}`;
    });
  return [
    ...missing(
      "rules",
      "limit",
      rules.filter(({ scope }) => scope === "provider").map(({ subject }) => subject),
    ),
    ...new Set(
      rules
        .filter(({ scope }) => scope === "model")
        .flatMap(({ subject }) => {
          const [provider = "", ...id] = subject.split("/");
          // The id of a model of another provider may begin with any word.
          const suggestion = knownProviders.has(provider.toLowerCase())
            ? null
            : closestName(provider, providerNames);
          return suggestion === null || id.length === 0
            ? []
            : `the rules for the model ${subject}: no provider ${provider} is configured; did you mean ${suggestion}/${id.join("/")}?`;
        }),
    ),
    ...missing(
      "prices",
      "price",
      prices.map(({ provider }) => provider).filter((name) => name !== "*"),
    ),
  ];
}

/**
 * Settings for several hosts that differ from their defaults on a host that shares nothing. One
 * warning names all of them.
 */
export function clusterWarnings({
  cluster,
  settings: inForce,
}: Pick<Config, "cluster" | "settings">): readonly string[] {
  if (cluster !== null) return [];
  const defaults = new Map<string, string>(
    Object.values(clusterSettings).map(({ path, defaultText }) => [path, defaultText]),
  );
  const changed = inForce
    .filter(({ path, source }) => defaults.has(path) && source !== "default")
    .filter(({ path, value }) => value !== defaults.get(path))
    .map(({ path, name }) => name ?? path);
  const verb = changed.length === 1 ? "does" : "do";
  return changed.length === 0
    ? []
    : [`${changed.join(", ")} ${verb} nothing without cluster.url: this host shares no limits`];
}

const limitVariables = [ruleForm, budgetForm].flatMap(({ singular, variables }) =>
  variables.map(({ prefix, scope }) => ({
    singular,
    prefix,
    scope,
    shown: `${prefix}<${scope === "user_path" ? "PATH" : "NAME"}>`,
  })),
);

/** Variables whose names look like Sluice's, but are unknown. */
export function variableWarnings(env: Environment): readonly string[] {
  const knownVariables = [
    configFileVariable,
    ...Object.values(settings).flatMap(({ env: name }) => name ?? []),
    remoteVariables.url,
    remoteVariables.key,
    followVariables.secret,
    alertsVariable,
    serviceVariables.workerMetrics,
  ];
  return Object.keys(env)
    .sort()
    .flatMap((name) => {
      const remark =
        variable(env, name) === null || knownVariables.includes(name)
          ? null
          : remarkOn(name, knownVariables);
      return remark === null ? [] : [`${name} is ignored: ${remark}`];
    });
}

function remarkOn(name: string, knownNames: readonly string[]): string | null {
  if (name.startsWith("SLUICE_"))
    return `it is not a known variable${
      didYouMean(
        name,
        knownNames.filter((known) => known.startsWith("SLUICE_")),
      ) || "; docs/reference/configuration.md lists the variables"
    }`;
  if (limitVariables.some(({ prefix }) => name.startsWith(prefix))) return null;
  const withoutSuffix = limitVariables.find(({ prefix }) => name === prefix.slice(0, -1));
  if (withoutSuffix !== undefined)
    return withoutSuffix.scope === "user_path"
      ? `the ${withoutSuffix.singular} for the root path is ${withoutSuffix.prefix}, with its last underscore`
      : `write ${withoutSuffix.shown}`;
  const misspelt = limitVariables.find(
    ({ prefix }) => closestName(name.slice(0, prefix.length), [prefix]) !== null,
  );
  if (misspelt !== undefined) return `did you mean ${misspelt.shown}?`;
  if (/^SET_.*(?:RATE_LIMIT|BUDGET)/.test(name))
    return `it is not a known variable: expected ${limitVariables.map(({ shown }) => shown).join(", ")}`;
  // A variable of one word may belong to any program.
  const close = name.includes("_")
    ? closestName(
        name,
        knownNames.filter((known) => known.includes("_")),
      )
    : null;
  return close === null ? null : `did you mean ${close}?`;
}
