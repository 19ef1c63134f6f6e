/**
 * The providers of a configuration (docs/reference/configuration.md): those that the file
 * declares, those that the usual key variables register, and the simulator if the file declares
 * none.
 */
import { append } from "../../long-lists.js";
import type { Operation } from "../../operation.js";
import { didYouMean } from "../closest-name.js";
import type { ProviderConfig } from "../config.js";
import { type Environment, variable } from "../environment.js";
import { type DeclaredProvider, type ReadFields, validFields } from "../file/config-file.js";
import { azureChat } from "../host-traits.js";
import { modelList } from "../kinds/list-kinds.js";
import { apiKey } from "../kinds/secret-kinds.js";
import { filePath } from "../kinds/text-kinds.js";
import { baseUrl } from "../kinds/url-kinds.js";
import { kindProblem, type ValueKind } from "../kinds/value-kind.js";
import { writtenName } from "../model-name.js";
import type { ModelOverrides } from "../model-overrides.js";
import type { OwnModelTraits } from "../model-traits.js";
import {
  baseUrlVariable,
  findPreset,
  keyFileVariable,
  modelsVariable,
  type Preset,
  presetAt,
  presetNames,
  presets,
} from "../presets.js";
import type { Problems } from "../problems.js";
import { type ProviderType, providerTraits, serviceKeepAliveMs } from "../provider-type.js";
import {
  type ProviderFields,
  providerSettings,
  simulatorModels,
} from "../settings/provider-settings.js";

/** A provider's key is in one of these fields. */
const keyFields = ["api_key", "api_keys", "api_key_file", "api_key_command"] as const;

/** Short enough for a log line and a metric's label. */
const nameCharsMax = 64;

interface Providers {
  readonly providers: readonly ProviderConfig[];
  /** Every declared name, also of invalid providers: a reference to one isn't reported again. */
  readonly names: readonly string[];
  readonly warnings: readonly string[];
}

/** All providers, first in the file's order, then in the order of the presets. */
export function resolveProviders(
  declared: readonly DeclaredProvider[],
  env: Environment,
  problems: Problems,
): Providers {
  const providers: ProviderConfig[] = [];
  const warnings: string[] = [];
  if (declared.length === 0)
    providers.push(fromFields("simulator", { ...defaultFields(), type: "simulator" }, null, null));
  for (const entry of declared) {
    const preset = findPreset(entry.name) ?? null;
    const override = preset === null ? null : readOverride(preset, env, problems.environment);
    const config = declaredProvider(entry, preset, override, problems.file);
    if (config !== null) providers.push(config);
    if (config?.type === "simulator" && override !== null && hasKey(override))
      warnings.push(
        `${preset?.keyVariable} is ignored: the file's provider ${entry.name} is a simulator`,
      );
  }
  const names = new Set([
    ...declared.map(({ name }) => name),
    ...providers.map(({ name }) => name),
  ]);
  for (const preset of presets) {
    if (names.has(preset.name)) continue;
    const override = readOverride(preset, env, problems.environment);
    const set =
      override.baseUrl !== null
        ? baseUrlVariable(preset)
        : override.models !== null
          ? modelsVariable(preset)
          : null;
    if (!hasKey(override) && !(preset.isKeyless && set !== null)) {
      if (set !== null)
        warnings.push(
          `${set} has no effect without ${preset.keyVariable} or a provider ${preset.name} in the file`,
        );
    } else if (preset.baseUrl === null && override.baseUrl === null) {
      const missing = baseUrlVariable(preset);
      warnings.push(
        `${preset.keyVariable} has no effect without ${missing}: ${preset.name} has no default address`,
      );
    } else {
      names.add(preset.name);
      providers.push(fromFields(preset.name, defaultFields(), preset, override));
    }
  }
  append(warnings, providers.flatMap(addressWarning));
  return { providers, names: [...names], warnings };
}

/** Paths that Sluice appends to a base URL, and that users often leave at its end. */
const appended = /\/(?:chat\/completions|completions|responses|messages|embeddings|models)$/;

function addressWarning({ name, baseUrl: address }: ProviderConfig): readonly string[] {
  const end = appended.exec(address)?.[0];
  return end === undefined
    ? []
    : [
        `the base URL of the provider ${name} ends in ${end}, which is appended to every base URL: leave it out`,
      ];
}

/** Checks a name that the operator chose for a provider or a server. */
export function checkProviderName(
  { path, name }: Pick<DeclaredProvider, "path" | "name">,
  problems: string[],
  hint = "",
): void {
  if (/^[a-z0-9][a-z0-9._-]*$/.test(name) && name.length <= nameCharsMax) return;
  problems.push(
    `${path} must be named with at most ${nameCharsMax} lower-case letters, digits, "-", "_" and ".", beginning with a letter or digit${hint}`,
  );
}

/** Checks that the key, and the outbound proxy, are given once. */
export function checkSecrets(
  path: string,
  fields: Pick<ReadFields<ProviderFields>, (typeof keyFields)[number] | "proxy" | "proxy_file">,
  problems: string[],
): void {
  const keys = keyFields.filter((key) => fields[key] !== null);
  if (keys.length > 1)
    problems.push(
      `${path} must have at most one of ${keyFields.join(", ")}, not ${keys.join(" and ")}`,
    );
  if (fields.proxy !== null && fields.proxy_file !== null)
    problems.push(`${path} must have at most one of proxy and proxy_file`);
}

/** A provider with these fields and the defaults of all others. */
export function providerFromFields(name: string, fields: Partial<ProviderFields>): ProviderConfig {
  return fromFields(name, { ...defaultFields(), ...fields }, null, null);
}

/** The variables of one provider; null if unset. */
interface Override {
  readonly apiKey: string | null;
  /** Replaces it: a file with the key. */
  readonly apiKeyFile: string | null;
  readonly baseUrl: string | null;
  readonly models: readonly string[] | null;
}

function readOverride(preset: Preset, env: Environment, problems: string[]): Override {
  const fromVariable = <T>(kind: ValueKind<T>, name: string): T | null => {
    const raw = variable(env, name);
    if (raw === null) return null;
    const value = kind.parse(raw);
    if (value === undefined) problems.push(kindProblem(kind, name, raw));
    return value ?? null;
  };
  const key = fromVariable(apiKey, preset.keyVariable);
  const keyFile = fromVariable(filePath, keyFileVariable(preset));
  if (key !== null && keyFile !== null)
    problems.push(
      `${preset.keyVariable} and ${keyFileVariable(preset)} are both set: keep one of them`,
    );
  return {
    apiKey: key,
    apiKeyFile: keyFile,
    baseUrl: fromVariable(baseUrl, baseUrlVariable(preset)),
    models: fromVariable(modelList, modelsVariable(preset)),
  };
}

function defaultFields(): ProviderFields {
  return Object.fromEntries(
    Object.entries(providerSettings).map(([key, { defaultValue }]) => [key, defaultValue]),
  ) as unknown as ProviderFields;
}

function declaredProvider(
  { path, name, fields, modelTraits, perModel }: DeclaredProvider,
  preset: Preset | null,
  override: Override | null,
  problems: string[],
): ProviderConfig | null {
  const before = problems.length;
  checkProviderName({ path, name }, problems, didYouMean(name, presetNames));
  if (problems.length > before) return null;
  // Without a valid type, the fields that depend on it can't be checked.
  if (fields === null || fields.type === undefined) return null;
  const type = typeOf(fields, preset);
  if (fields.api_version !== null && type !== "azure")
    problems.push(`${path}.api_version is for the type azure: leave it out`);
  if (type === "simulator") {
    if (fields.base_url !== null)
      problems.push(`${path}.base_url is not for the type simulator: leave it out`);
    for (const key of keyFields)
      if (fields[key] !== null)
        problems.push(`${path}.${key} is not for the type simulator: leave it out`);
  } else if (fields.base_url !== undefined && baseUrlOf(fields, preset, override) === null) {
    const withAddress = presets
      .filter((preset) => preset.baseUrl !== null)
      .map((preset) => preset.name);
    problems.push(
      `${path}.base_url is required: only the names ${withAddress.join(", ")} have one of their own${didYouMean(name, withAddress)}`,
    );
  }
  checkSecrets(path, fields, problems);
  const valid = problems.length > before ? null : validFields(fields);
  if (valid === null) return null;
  const config = fromFields(name, valid, preset, override);
  const traits = ownModelTraits({ path, modelTraits }, config.operations, problems);
  return {
    ...config,
    modelTraits: traits,
    perModel: resolveOverrides({ path, perModel }, problems),
  };
}

function typeOf(
  fields: Pick<ReadFields<ProviderFields>, "type">,
  preset: Preset | null,
): ProviderType {
  return fields.type ?? preset?.type ?? "openai";
}

/** A preset's address applies to its type only: with another type, `base_url` is required. */
function baseUrlOf(
  fields: Pick<ReadFields<ProviderFields>, "type" | "base_url">,
  preset: Preset | null,
  override: Override | null,
): string | null {
  const type = typeOf(fields, preset);
  return (
    override?.baseUrl ??
    fields.base_url ??
    (preset?.type === type ? preset.baseUrl : providerTraits[type].baseUrl)
  );
}

function hasKey({ apiKey, apiKeyFile }: Override): boolean {
  return apiKey !== null || apiKeyFile !== null;
}

/** A key in the environment replaces the file's. */
function keysFrom(
  fields: Pick<ProviderFields, (typeof keyFields)[number]>,
  override: Override | null,
): Pick<ProviderConfig, "apiKey" | "apiKeys" | "apiKeyFile" | "apiKeyCommand"> {
  if (override !== null && hasKey(override)) {
    const { apiKey, apiKeyFile } = override;
    return { apiKey, apiKeyFile, apiKeys: null, apiKeyCommand: null };
  }
  return {
    apiKey: fields.api_key,
    apiKeys: fields.api_keys,
    apiKeyFile: fields.api_key_file,
    apiKeyCommand: fields.api_key_command,
  };
}

function fromFields(
  name: string,
  fields: ProviderFields,
  preset: Preset | null,
  override: Override | null,
): ProviderConfig {
  const type = typeOf(fields, preset);
  const traits = providerTraits[type];
  const isSimulated = type === "simulator";
  const address = isSimulated ? "" : (baseUrlOf(fields, preset, override) ?? "");
  // The address, or behind a relay the name, identifies the preset with its traits.
  const presetInUse = isSimulated ? undefined : (presetAt(address) ?? preset ?? undefined);
  const quirks = presetInUse?.type === type ? presetInUse : undefined;
  const ownModels = isSimulated
    ? (fields.models ?? simulatorModels)
    : (override?.models ?? fields.models);
  const listsModels = quirks?.listsModels ?? traits.listsModels;
  return {
    name,
    type,
    operations: new Set(fields.operations ?? quirks?.operations ?? traits.operations),
    baseUrl: address,
    ...keysFrom(fields, isSimulated ? null : override),
    headers: fields.headers.values,
    headerFiles: fields.headers.files,
    credentialHeader: traits.credentialHeader,
    account: fields.account ?? name,
    apiVersion: fields.api_version,
    chat: type === "azure" ? azureChat(fields.api_version) : (quirks?.chat ?? traits.chat),
    responses: quirks?.responses ?? traits.responses,
    modelTraits: [],
    perModel: [],
    translation: fields.translation,
    nativeRequests: fields.native_requests,
    cache: fields.cache,
    maxTokensDefault: fields.max_tokens_default,
    models: ownModels?.map((model) => writtenName(type, model)) ?? (listsModels ? null : []),
    passthrough: fields.passthrough,
    forwardHeaders: fields.forward_headers,
    connectTimeoutMs: fields.connect_timeout_ms,
    firstByteTimeoutMs: fields.first_byte_timeout_ms,
    idleTimeoutMs: fields.idle_timeout_ms,
    keepAliveMs:
      type === "openai" && presetAt(address) !== undefined
        ? serviceKeepAliveMs
        : traits.keepAliveMs,
    connectionsMax: fields.max_connections,
    proxy: fields.proxy,
    proxyFile: fields.proxy_file,
    caFile: fields.ca_file,
    retries: fields.retries,
    retryWaitMaxMs: fields.retry_wait_max_ms,
    breakerFailures: fields.breaker_failures,
    breakerOpenMs: fields.breaker_open_ms,
    upstreamLimits: {
      mode: fields.upstream_limits,
      trustsLimits: fields.trust_limits,
      adaptive: fields.adaptive_concurrency,
    },
  };
}

/** The entries of `per_model`. */
function resolveOverrides(
  { path, perModel }: Pick<DeclaredProvider, "path" | "perModel">,
  problems: string[],
): readonly ModelOverrides[] {
  return perModel.flatMap(({ fields }, index): ModelOverrides[] => {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    const { set, defaults, drop } = valid;
    const lists = [
      ["set", (set ?? []).map(({ name }) => name)],
      ["defaults", (defaults ?? []).map(({ name }) => name)],
      ["drop", drop ?? []],
    ] as const;
    const first = new Map<string, string>();
    for (const [key, names] of lists)
      for (const name of names) {
        const earlier = first.get(name);
        if (earlier !== undefined)
          problems.push(
            `${path}.per_model[${index}].${key} names ${name}, which ${earlier} names too: keep one of them`,
          );
        first.set(name, earlier ?? key);
      }
    return [
      {
        models: valid.models ?? [],
        operations: valid.operations,
        firstByteTimeoutMs: valid.first_byte_timeout_ms,
        totalTimeoutMs: valid.total_timeout_ms,
        set: set ?? [],
        defaults: defaults ?? [],
        drop: drop ?? [],
      },
    ];
  });
}

/** The entries of `model_traits`. */
function ownModelTraits(
  { path, modelTraits }: Pick<DeclaredProvider, "path" | "modelTraits">,
  operations: ReadonlySet<Operation>,
  problems: string[],
): readonly OwnModelTraits[] {
  return modelTraits.flatMap(({ fields }, index): OwnModelTraits[] => {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    if (valid.reasoning_with_tools === "responses" && !operations.has("responses"))
      problems.push(
        `${path}.model_traits[${index}].reasoning_with_tools must not be responses: the provider's operations are without responses`,
      );
    return [
      {
        models: valid.models ?? [],
        like: valid.like,
        outputTokensMax: valid.max_output_tokens,
        efforts: valid.efforts,
        reasoningWithTools: valid.reasoning_with_tools,
        sampling: valid.sampling,
        thinking: valid.thinking,
        takesOutputSchema: valid.output_schema,
        takesImages: valid.images,
        takesForcedCalls: valid.forced_calls,
      },
    ];
  });
}
