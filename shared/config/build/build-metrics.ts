/** The settings of /metrics, and of traces. */
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

export function buildTracing(values: SettingValues, sources: PathSources): Config["tracing"] {
  const { tracingHeadersFile: file } = values;
  return {
    propagate: values.tracePropagation,
    endpoint: values.tracingEndpoint,
    headers: values.tracingHeaders,
    headersFile: file === null ? null : absoluteSetting(settings.tracingHeadersFile, file, sources),
    sampler: values.tracingSampler,
    sample: values.tracingSample,
  };
}
