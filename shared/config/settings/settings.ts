/**
 * Every scalar setting of Sluice, with its path in the file, its variable and flag, what it
 * accepts, its default and its meaning: the tables of the sections, put together. Not here: the
 * fields of providers, prices, issuers and rewriters, which have tables of their own, and rules,
 * budgets and virtual models, which aren't scalars.
 */
import type { LogLevel } from "../../log.js";
import type { LogFormat } from "../../logging/log-format.js";
import { choice } from "../kinds/choice-kinds.js";
import { fraction } from "../kinds/number-kinds.js";
import { cacheSettings } from "./cache-settings.js";
import { clusterSettings } from "./cluster-settings.js";
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
  ...clusterSettings,
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
  logFormat: setting<LogFormat>({
    path: "log_format",
    env: "LOG_FORMAT",
    flag: null,
    kind: choice(["auto", "json", "text"]),
    defaultValue: "auto",
    defaultText: "auto",
    unit: null,
    meaning: "How lines are written: as JSON, as text for people, or as text at a terminal alone.",
  }),
  logSample: setting({
    path: "log_sample",
    env: "LOG_SAMPLE",
    flag: null,
    kind: fraction,
    defaultValue: 1,
    defaultText: "1",
    unit: null,
    meaning: "Which part of the successful requests has lines; what isn't a success always has.",
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

/** What the units of systemd tell a proxy: where those that share its port answer each other. */
export const serviceVariables = { workerMetrics: "SLUICE_WORKER_METRICS" } as const;

/** What `sluice usage follow` takes for a password or a token. */
export const followVariables = { secret: "SLUICE_FOLLOW_SECRET" } as const;
