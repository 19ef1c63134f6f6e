/** The settings of /metrics. */
import type { Config } from "../config.js";
import { type SettingValues, settings } from "../settings/settings.js";
import { absoluteSetting, type PathSources } from "./absolute-setting.js";

export function buildMetrics(values: SettingValues, sources: PathSources): Config["metrics"] {
  const { metricsToken: token, metricsTokenFile: file } = values;
  return {
    token,
    tokenFile: file === null ? null : absoluteSetting(settings.metricsTokenFile, file, sources),
    seriesMax: values.metricsSeriesMax,
    rulesMax: values.metricsRulesMax,
    userPathDepth: values.metricsUserPathDepth,
  };
}
