/** The settings of /metrics, checked together. */
import type { Config } from "../config.js";
import type { Problems } from "../problems.js";
import type { SettingValues } from "../settings/settings.js";
import { absolutePath } from "./default-paths.js";

export function buildMetrics(
  values: SettingValues,
  { cwd }: { readonly cwd: string },
  problems: Problems,
): Config["metrics"] {
  const { metricsToken: token, metricsTokenFile: file } = values;
  if (token !== null && file !== null)
    problems.file.push("metrics.token and metrics.token_file must not both be set");
  return {
    token,
    tokenFile: file === null ? null : absolutePath(file, cwd),
    seriesMax: values.metricsSeriesMax,
    rulesMax: values.metricsRulesMax,
    userPathDepth: values.metricsUserPathDepth,
  };
}
