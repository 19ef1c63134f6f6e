/** The settings of /metrics, and of traces. */
import type { Config } from "../config.js";
import { type SettingValues, settings } from "../settings/settings.js";
import { readTelemetryVariables } from "../variables/telemetry-variables.js";
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

/** With what OpenTelemetry's variables say that deserves a warning. */
export function buildTracing(
  values: SettingValues,
  sources: PathSources,
): { readonly tracing: Config["tracing"]; readonly warnings: readonly string[] } {
  const { tracingHeadersFile: file, tracingEndpoint: base, tracesEndpoint: whole } = values;
  // OpenTelemetry: the signal's own address as it is, before the common one.
  const endpoint = whole ?? (base === null ? null : `${base}/v1/traces`);
  const variables = readTelemetryVariables(sources.env, endpoint !== null);
  const tracing = {
    propagate: values.tracePropagation,
    endpoint: variables.off ? null : endpoint,
    protocol: variables.protocol,
    headers: values.tracingHeaders,
    headersFile: file === null ? null : absoluteSetting(settings.tracingHeadersFile, file, sources),
    spanHeaders: variables.headers,
    sampler: values.tracingSampler,
    sample: values.tracingSample,
  };
  return { tracing, warnings: variables.warnings };
}
