/** The settings of /metrics, and of traces. */
import type { Config } from "../config.js";
import { type Environment, variable } from "../environment.js";
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

/** Off by OpenTelemetry's own switch: `true`, in any letters, and nothing else. */
const disabledVariable = "OTEL_SDK_DISABLED";

export function buildTracing(values: SettingValues, sources: PathSources): Config["tracing"] {
  const { tracingHeadersFile: file, tracingEndpoint: base, tracesEndpoint: whole } = values;
  const isDisabled = variable(sources.env, disabledVariable)?.trim().toLowerCase() === "true";
  // OpenTelemetry: the signal's own address as it is, before the common one.
  const endpoint = whole ?? (base === null ? null : `${base}/v1/traces`);
  return {
    propagate: values.tracePropagation,
    endpoint: isDisabled ? null : endpoint,
    headers: values.tracingHeaders,
    headersFile: file === null ? null : absoluteSetting(settings.tracingHeadersFile, file, sources),
    sampler: values.tracingSampler,
    sample: values.tracingSample,
  };
}

/** As the specification asks for: what is neither is taken for false. */
export function tracingWarnings(env: Environment): readonly string[] {
  const value = variable(env, disabledVariable);
  return value === null || /^\s*(?:true|false)\s*$/i.test(value)
    ? []
    : [`${disabledVariable} must be true or false, and is taken for false: spans are made`];
}
