/** The settings of /metrics, checked together. */
import type { Config } from "../config.js";
import type { Problems } from "../problems.js";
import { type SettingValues, settings } from "../settings/settings.js";
import { absoluteSetting, type PathSources } from "./absolute-setting.js";

export function buildMetrics(
  values: SettingValues,
  sources: PathSources,
  problems: Problems,
): Config["metrics"] {
  const { metricsToken: token, metricsTokenFile: file } = values;
  if (token !== null && file !== null)
    problems.file.push("metrics.token and metrics.token_file must not both be set");
  return {
    token,
    tokenFile: file === null ? null : absoluteSetting(settings.metricsTokenFile, file, sources),
    seriesMax: values.metricsSeriesMax,
    rulesMax: values.metricsRulesMax,
    userPathDepth: values.metricsUserPathDepth,
  };
}
