/**
 * Every scalar setting of Sluice, with its path in the file, its variable and flag, what it
 * accepts, its default and its meaning: the tables of the sections, put together. Not here: the
 * fields of providers, prices, issuers and rewriters, which have tables of their own, and rules,
 * budgets and virtual models, which aren't scalars.
 */
import type { LogLevel } from "../../log.js";
import { choice } from "../kinds/choice-kinds.js";
import { cacheSettings } from "./cache-settings.js";
import { limiterSettings } from "./limiter-settings.js";
import { ruleSettings } from "./rule-settings.js";
import { serverSettings } from "./server-settings.js";
import { setting } from "./setting.js";
import { metricsSettings, tracingSettings, usageSettings } from "./usage-settings.js";

export const settings = {
  ...serverSettings,
  ...limiterSettings,
  ...usageSettings,
  ...cacheSettings,
  ...metricsSettings,
  ...tracingSettings,
  ...ruleSettings,
  logLevel: setting<LogLevel>({
    path: "log_level",
    env: "LOG_LEVEL",
    flag: "logLevel",
    kind: choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]),
    defaultValue: "info",
    defaultText: "info",
    unit: null,
    meaning: "The least important lines that are logged.",
  }),
} as const;

/** The checked value of each setting. */
export type SettingValues = {
  readonly [K in keyof typeof settings]: (typeof settings)[K]["defaultValue"];
};

/** The variable that names the file itself, so the file can't hold it. */
export const configFileVariable = "SLUICE_CONFIG";

/** What the command line takes for a gateway elsewhere: where it is, and its key, or the second. */
export const remoteVariables = {
  url: "SLUICE_URL",
  key: "SLUICE_API_KEY",
  masterKey: "SLUICE_MASTER_KEY",
} as const;
