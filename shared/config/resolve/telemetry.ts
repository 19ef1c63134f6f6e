/**
 * The settings of /metrics and of traces, and variables of OpenTelemetry that aren't settings of
 * Sluice. The variables follow OpenTelemetry's specification: blank means unset, case is ignored,
 * and an unknown value is ignored with a warning that names it.
 */
import type { TraceProtocol } from "../../metrics/telemetry-config.js";
import type { Config } from "../config.js";
import { type Environment, variable } from "../environment.js";
import { parseHeaderList } from "../kinds/secret-kinds.js";
import { type SettingValues, settings } from "../settings/settings.js";

export function resolveMetrics(values: SettingValues): Config["metrics"] {
  return {
    token: values.metricsToken,
    tokenFile: values.metricsTokenFile,
    listen:
      values.metricsPort === null ? null : { host: values.metricsHost, port: values.metricsPort },
    seriesMax: values.metricsSeriesMax,
    rulesMax: values.metricsRulesMax,
    userPathDepth: values.metricsUserPathDepth,
  };
}

/** Also returns the warnings about OpenTelemetry's variables. */
export function resolveTracing(
  values: SettingValues,
  env: Environment,
): { readonly tracing: Config["tracing"]; readonly warnings: readonly string[] } {
  const { tracingEndpoint: base, tracesEndpoint } = values;
  // OpenTelemetry: the signal's own address, unchanged, overrides the common one.
  const endpoint = tracesEndpoint ?? (base === null ? null : `${base}/v1/traces`);
  const variables = readTelemetryVariables(env, endpoint !== null);
  const tracing = {
    propagate: values.tracePropagation,
    endpoint: variables.isOff ? null : endpoint,
    protocol: variables.protocol,
    headers: values.tracingHeaders,
    headersFile: values.tracingHeadersFile,
    spanHeaders: variables.headers,
    sampler: values.tracingSampler,
    sample: values.tracingSample,
  };
  return { tracing, warnings: variables.warnings };
}

/** OpenTelemetry's own switch: only `true`, ignoring case, turns spans off. */
const disabledVariable = "OTEL_SDK_DISABLED";
const exporterVariable = "OTEL_TRACES_EXPORTER";
const headersVariable = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
/** The signal's own variable overrides the common one. */
const protocolVariables = [
  "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
  "OTEL_EXPORTER_OTLP_PROTOCOL",
] as const;
/** Longer values are cut in a warning. */
const valueCharsMax = 60;

/** All of them, for the documentation (docs/reference/tracing.md). */
export const telemetryVariables = [
  disabledVariable,
  exporterVariable,
  headersVariable,
  ...protocolVariables,
] as const;

interface TelemetryVariables {
  /** Whether no spans are sent, whatever else is set. */
  readonly isOff: boolean;
  readonly protocol: TraceProtocol;
  /** Overrides the common headers; null if there are none. */
  readonly headers: string | null;
  readonly warnings: readonly string[];
}

/** `hasEndpoint`: whether an address for spans is set. */
export function readTelemetryVariables(env: Environment, hasEndpoint: boolean): TelemetryVariables {
  const disabled = readDisabled(env);
  const exporter = readExporter(env, hasEndpoint);
  const protocol = readProtocol(env);
  const headers = readHeaders(env);
  const isOff = disabled.value || exporter.value;
  // No warnings about spans when tracing is off.
  const spanWarnings = isOff || !hasEndpoint ? [] : [...protocol.warnings, ...headers.warnings];
  return {
    isOff,
    protocol: protocol.value,
    headers: headers.value,
    warnings: [...disabled.warnings, ...(disabled.value ? [] : exporter.warnings), ...spanWarnings],
  };
}

/**
 * The environment without a sampler or ratio that only other programs support: a host's variables
 * apply to all programs, and the specification requires a warning, not a failed start.
 */
export function withKnownSampler(env: Environment): {
  readonly env: Environment;
  readonly warnings: readonly string[];
} {
  const { tracingSampler: sampler, tracingSample: sample } = settings;
  const odd = ({ env: name, kind }: typeof sampler | typeof sample): string | null => {
    const value = variable(env, name ?? "");
    return value !== null && kind.parse(value) === undefined ? value : null;
  };
  const [name, part] = [odd(sampler), odd(sample)];
  const without = (...names: readonly (string | null)[]): Environment =>
    Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
  if (name !== null)
    return {
      env: without(sampler.env, sample.env),
      warnings: [`${sampler.env} is ignored: it ${sampler.kind.expected}, not ${quoteValue(name)}`],
    };
  if (part === null) return { env, warnings: [] };
  const warning = `${sample.env} is ignored: it ${sample.kind.expected}, not ${quoteValue(part)}`;
  return { env: without(sample.env), warnings: [warning] };
}

interface ReadSetting<T> {
  readonly value: T;
  readonly warnings: readonly string[];
}

function readDisabled(env: Environment): ReadSetting<boolean> {
  const value = variable(env, disabledVariable)?.toLowerCase() ?? "false";
  const warning = `${disabledVariable} must be true or false, and is taken for false`;
  return { value: value === "true", warnings: ["true", "false"].includes(value) ? [] : [warning] };
}

/** True for `none` without `otlp`. */
function readExporter(env: Environment, hasEndpoint: boolean): ReadSetting<boolean> {
  const value = variable(env, exporterVariable);
  if (value === null) return { value: false, warnings: [] };
  const names = value.split(",").map((name) => name.trim().toLowerCase());
  if (names.some((name) => name !== "otlp" && name !== "none" && name !== ""))
    return {
      value: false,
      warnings: [
        `${exporterVariable} is ${quoteValue(value)}: Sluice knows otlp and none alone, and takes it for unset`,
      ],
    };
  const isOff = !names.includes("otlp") && names.includes("none");
  const nowhere = `${exporterVariable} is ${quoteValue(value)}, but no spans are made: set OTEL_EXPORTER_OTLP_ENDPOINT, or tracing.endpoint`;
  return { value: isOff, warnings: isOff || hasEndpoint ? [] : [nowhere] };
}

function readProtocol(env: Environment): ReadSetting<TraceProtocol> {
  const name = protocolVariables.find((candidate) => variable(env, candidate) !== null);
  const variableText = name === undefined ? null : variable(env, name);
  const value = variableText?.toLowerCase() ?? "http/json";
  if (value === "http/json" || value === "http/protobuf") return { value, warnings: [] };
  return {
    value: "http/json",
    warnings: [
      `${name} is ${quoteValue(variableText ?? "")}: Sluice sends spans by http/json or http/protobuf, and takes the first; the address must be one for OTLP over HTTP, usually at port 4318`,
    ],
  };
}

/** The value may be a key, so it isn't shown. */
function readHeaders(env: Environment): ReadSetting<string | null> {
  const value = variable(env, headersVariable);
  if (value === null || parseHeaderList(value) !== null) return { value, warnings: [] };
  const warning = `${headersVariable} must be name=value, several with commas between, values percent-encoded: it is left out`;
  return { value: null, warnings: [warning] };
}

function quoteValue(value: string): string {
  return JSON.stringify(value.slice(0, valueCharsMax));
}
