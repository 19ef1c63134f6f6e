/** The settings of /metrics, and of traces. */
import type { Config } from "../config.js";
import type { Environment } from "../environment.js";
import type { SettingValues } from "../settings/settings.js";
import { readTelemetryVariables } from "../variables/telemetry-variables.js";

export function buildMetrics(values: SettingValues): Config["metrics"] {
  return {
    token: values.metricsToken,
    tokenFile: values.metricsTokenFile,
    seriesMax: values.metricsSeriesMax,
    rulesMax: values.metricsRulesMax,
    userPathDepth: values.metricsUserPathDepth,
  };
}

/** With what OpenTelemetry's variables say that deserves a warning. */
export function buildTracing(
  values: SettingValues,
  env: Environment,
): { readonly tracing: Config["tracing"]; readonly warnings: readonly string[] } {
  const { tracingEndpoint: base, tracesEndpoint: whole } = values;
  // OpenTelemetry: the signal's own address as it is, before the common one.
  const endpoint = whole ?? (base === null ? null : `${base}/v1/traces`);
  const variables = readTelemetryVariables(env, endpoint !== null);
  const tracing = {
    propagate: values.tracePropagation,
    endpoint: variables.off ? null : endpoint,
    protocol: variables.protocol,
    headers: values.tracingHeaders,
    headersFile: values.tracingHeadersFile,
    spanHeaders: variables.headers,
    sampler: values.tracingSampler,
    sample: values.tracingSample,
  };
  return { tracing, warnings: variables.warnings };
}
