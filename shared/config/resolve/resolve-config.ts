/**
 * Builds the checked configuration from the text of a file, the environment and the flags, or
 * reports every problem. `../load-config.ts` finds and reads the file.
 */
import { buildCluster } from "../../cluster/cluster-config.js";
import type { Config } from "../config.js";
import type { Environment } from "../environment.js";
import { type ConfigFile, validFields } from "../file/config-file.js";
import { parseShape } from "../file/parse-shape.js";
import { parseYaml } from "../file/parse-yaml.js";
import { alertsVariable, readAlertsVariable } from "../file/read-alerts.js";
import { substituteVariables } from "../file/substitute-variables.js";
import { budgetForm } from "../limits/budget-limits.js";
import { readEnvLimits } from "../limits/env-limits.js";
import { mergeLimits, placesInFile, readFileLimits } from "../limits/file-limits.js";
import { ruleForm } from "../limits/rule-limits.js";
import { namingsOf } from "../model-name.js";
import { createUseProblem } from "../model-to-use.js";
import { fileProblem, locateProblems, noProblems, type Problem, problemList } from "../problems.js";
import type { Flags } from "../settings/setting.js";
import {
  type SettingValues,
  serverSettings,
  settings,
  usageSettings,
} from "../settings/settings.js";
import { resolveAlerts } from "./alerts.js";
import { resolveAliases } from "./aliases.js";
import {
  budgetWarnings,
  clearTextWarnings,
  clusterWarnings,
  providerWarnings,
  starWarnings,
  tokenRuleWarnings,
  variableWarnings,
} from "./config-warnings.js";
import { resolveIssuers } from "./jwt-issuers.js";
import { resolveLimiter } from "./limiter.js";
import { resolveMcpServers } from "./mcp-servers.js";
import { resolveOidc } from "./oidc.js";
import { readProxyVariables, withEgress } from "./outbound-proxies.js";
import { resolvePrices } from "./prices.js";
import { resolveProviders } from "./providers.js";
import {
  decidedBy,
  describeSettings,
  directoryOf,
  resolveSettings,
  valuesOf,
} from "./resolve-settings.js";
import { resolveMetrics, resolveTracing, withKnownSampler } from "./telemetry.js";
import { resolveTls } from "./tls.js";
import { resolveVirtualModels } from "./virtual-models.js";
import { resolveWebSearch } from "./web-search.js";

/** A valid configuration with warnings about it, or every problem. */
export type ConfigResult =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly warnings: readonly string[];
      /**
       * Secrets left out because their variable isn't set in this process; another process may have
       * it.
       */
      readonly unset: readonly string[];
    }
  | { readonly ok: false; readonly file: string | null; readonly problems: readonly Problem[] };

export interface ConfigSources {
  /** Null for the built-in default. */
  readonly file: { readonly path: string; readonly text: string } | null;
  readonly flags: Flags;
  readonly env: Environment;
  /**
   * The base of relative paths in flags and variables; those in the file are relative to the file.
   */
  readonly cwd: string;
  /** The user who runs Sluice: determines the default socket and store. */
  readonly uid: number;
}

export function resolveConfig(configSources: ConfigSources): ConfigResult {
  const { env, warnings: samplerWarnings } = withKnownSampler(configSources.env);
  const sources = { ...configSources, env };
  const { file } = sources;
  const text = file?.text ?? "";
  const yaml = parseYaml(text);
  const problems = noProblems();
  const failed = (): ConfigResult => {
    const path = file?.path ?? null;
    const yamlProblems = yaml.problems.map((problem) => fileProblem(problem, path));
    const located = locateProblems(problemList(problems, path), { text, places: yaml.places });
    return { ok: false, file: path, problems: [...yamlProblems, ...located] };
  };
  // If the text isn't YAML, nothing in it can be checked.
  if (yaml.document === undefined) return failed();
  const unset: string[] = [];
  const document = substituteVariables(yaml.document, env, problems.file, unset);
  const shape = parseShape(document, problems.file);

  const fileDirectory = file === null ? sources.cwd : directoryOf(file.path);
  const placed = { ...sources, file: shape.settings, fileDirectory };
  const values = resolveSettings(placed, problems);
  const limiter = resolveLimiter(values, placed, problems);
  const { tracing, warnings: spansWarnings } = resolveTracing(values, env);
  const cluster = buildCluster(values, (setting, problem) => {
    const { name, place } = decidedBy(settings[setting], placed);
    problems[place].push(`${name} ${problem}`);
  });
  const tls = resolveTls(values, (setting, problem) => {
    const { name, place } = decidedBy(settings[setting], placed);
    problems[place].push(`${name} ${problem}`);
  });
  const proxies = readProxyVariables(env, problems.environment);
  const webSearch = resolveWebSearch(values, proxies, problems.file);
  const oidc = resolveOidc(values, problems.file);
  const { providers: built, names, warnings } = resolveProviders(shape.providers, env, problems);
  const providers = built.map((provider) => withEgress(provider, proxies, fileDirectory));
  const mcpServers = resolveMcpServers(shape.mcpServers, problems.file).map((server) =>
    withEgress(server, proxies, fileDirectory),
  );
  const namings = namingsOf(providers);
  const virtualModels = resolveVirtualModels(
    shape.virtualModels,
    { names, namings },
    problems.file,
  );
  const targets = { names, namings, sources: virtualModels.map(({ source }) => source) };
  const aliases = resolveAliases(shape.aliases, targets, problems.file);
  const prices = resolvePrices(shape.prices, namings, problems.file);
  const jwtIssuers = resolveIssuers(shape.issuers, { fileDirectory, proxies }, problems.file);
  const alertsFromVariable = readAlertsVariable(env[alertsVariable], problems.environment);
  const alerts =
    alertsFromVariable === null
      ? resolveAlerts(shape.alerts, { directory: fileDirectory, proxies }, problems.file)
      : resolveAlerts(
          alertsFromVariable,
          { directory: sources.cwd, proxies },
          problems.environment,
        );
  const quotaTemplatesEntitled = values.entitlements.includes("quota_templates");
  const isWrong = (): boolean =>
    yaml.problems.length > 0 ||
    Object.values(problems).some((problemsOfSource) => problemsOfSource.length > 0);
  // A model may be missing only because of another problem.
  const options = {
    perChildEntitled: quotaTemplatesEntitled,
    useProblem: isWrong() ? undefined : createUseProblem({ providers, virtualModels, aliases }),
  };
  const fileRules = readFileLimits(ruleForm, shape.rules, options, problems.file);
  const envRules = readEnvLimits(ruleForm, env, options, problems.environment);
  const fileBudgets = readFileLimits(budgetForm, shape.budgets, options, problems.file);
  const envBudgets = readEnvLimits(budgetForm, env, options, problems.environment);
  if (isWrong()) return failed();

  const inFile = { text, places: yaml.places };
  const { limits: rules, declaredAt } = mergeLimits(
    ruleForm,
    { limits: fileRules, declaredAt: placesInFile(shape.rules, inFile) },
    envRules,
  );
  const { limits: budgets, declaredAt: budgetsAt } = mergeLimits(
    budgetForm,
    { limits: fileBudgets, declaredAt: placesInFile(shape.budgets, inFile) },
    envBudgets,
  );
  const { backgroundLookMs, backgroundWaitMs, backgroundMax, ...usage } = valuesOf(
    usageSettings,
    values,
  );
  const config: Config = {
    file: file?.path ?? null,
    server: { ...resolveServer(values), tls },
    limiter,
    providers,
    mcpServers,
    virtualModels,
    aliases,
    prices,
    priceListFile: values.priceListFile,
    jwtIssuers,
    alerts,
    cache: resolveCache(values),
    metrics: resolveMetrics(values),
    cluster,
    tracing,
    webSearch,
    oidc,
    rewriters: resolveRewriters(shape),
    ...usage,
    background: { lookMs: backgroundLookMs, waitMs: backgroundWaitMs, max: backgroundMax },
    quotaTemplatesEntitled,
    rateLimits: {
      enabled: values.rateLimitsEnabled,
      flushIntervalMs: values.flushIntervalMs,
      tokenWeights: values.tokenWeights,
      rules,
      declaredAt,
    },
    budgets: {
      enabled: values.budgetsEnabled,
      unpriced: values.budgetsUnpriced,
      budgets,
      declaredAt: budgetsAt,
    },
    waiting:
      values.waitMaxMs === 0 && values.waitsOfPaths.length === 0
        ? null
        : {
            maxMs: values.waitMaxMs,
            defaultMs: values.waitDefaultMs,
            paths: values.waitsOfPaths,
            keepAliveMs: values.waitKeepAliveMs,
          },
    logLevel: values.logLevel,
    logging: { format: values.logFormat, sample: values.logSample },
    settings: describeSettings(placed, limiter),
  };
  return {
    ok: true,
    config,
    unset,
    warnings: [
      ...variableWarnings(env),
      ...samplerWarnings,
      ...spansWarnings,
      ...warnings,
      ...tokenRuleWarnings(rules, values.usageEnabled),
      ...budgetWarnings(budgets, values.usageEnabled),
      ...providerWarnings(rules, prices, [...names, ...mcpServers.map(({ name }) => name)]),
      ...clusterWarnings(config),
      ...clearTextWarnings(providers),
      ...starWarnings(rules, budgets),
    ],
  };
}

function resolveServer(values: SettingValues): Omit<Config["server"], "tls"> {
  const { adminHost, adminPort, ...server } = valuesOf(serverSettings, values);
  return { ...server, admin: adminPort === null ? null : { host: adminHost, port: adminPort } };
}

function resolveRewriters({ rewriters }: ConfigFile): Config["rewriters"] {
  return rewriters.flatMap(({ fields }) => {
    const valid = fields === null ? null : validFields(fields);
    return valid === null || valid.name === null
      ? []
      : [{ name: valid.name, paths: valid.paths, models: valid.models }];
  });
}

function resolveCache({
  cacheEnabled,
  cacheTtlMs,
  cacheEntriesMax,
  cacheBytesMax,
  cacheEntryBytesMax,
  cacheSharedAcrossPaths,
}: SettingValues): Config["cache"] {
  if (!cacheEnabled) return null;
  return {
    ttlMs: cacheTtlMs,
    entriesMax: cacheEntriesMax,
    bytesMax: cacheBytesMax,
    entryBytesMax: Math.min(cacheEntryBytesMax, cacheBytesMax),
    shareAcrossPaths: cacheSharedAcrossPaths,
  };
}
