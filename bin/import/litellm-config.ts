/**
 * Translates the configuration of LiteLLM's proxy (docs/coming-from-litellm.md) into Sluice's.
 * Whatever has no counterpart, or another meaning, becomes a note. Pure.
 */
import { isObject } from "../../shared/checked.js";
import { findPreset } from "../../shared/config/presets.js";
import { append } from "../../shared/long-lists.js";
import { budgetPeriod } from "./budget-duration.js";
import {
  azureAddress,
  escapedDollars,
  type Fields,
  type ImportedConfig,
  listOf,
  objectOf,
  perMillion,
  trimmedOrNull,
} from "./imported-values.js";

/** The providers of LiteLLM whose name differs, by Sluice's preset. */
const renamed: Readonly<Record<string, string>> = {
  together_ai: "together",
  fireworks_ai: "fireworks",
  cohere_chat: "cohere",
  nvidia_nim: "nvidia",
  github: "github-models",
  ollama_chat: "ollama",
  hosted_vllm: "vllm",
  lm_studio: "lmstudio",
  azure_text: "azure",
  "text-completion-openai": "openai",
};

/** Providers that speak OpenAI's API at an address of their own. */
const compatible = new Set(["openai_like", "custom_openai", "litellm_proxy", "xinference"]);

/** Their calls need the signatures or tokens of a cloud, which Sluice doesn't make. */
const signed = new Set(["bedrock", "vertex_ai", "vertex_ai_beta", "sagemaker", "sagemaker_chat"]);

/** The provider of a model whose name has no provider. */
const families: readonly (readonly [RegExp, string])[] = [
  [/^claude/i, "anthropic"],
  [/^gemini/i, "gemini"],
  [/^(?:command|embed-)/i, "cohere"],
  [/^(?:gpt|chatgpt|o\d|text-embedding|dall-e|whisper|tts|omni-moderation)/i, "openai"],
];

/** Parameters of a deployment that are fields of its requests. */
const bodyFields = new Set([
  "temperature",
  "max_tokens",
  "max_completion_tokens",
  "top_p",
  "seed",
  "stop",
  "n",
  "presence_penalty",
  "frequency_penalty",
  "reasoning_effort",
  "service_tier",
  "user",
]);

/** Parameters that are translated, or whose effect needs no note. */
const knownParams = new Set([
  ...["model", "api_base", "base_url", "api_key", "api_version", "extra_headers", "organization"],
  ...["rpm", "tpm", "max_parallel_requests", "timeout", "stream_timeout", "weight", "max_retries"],
  ...["input_cost_per_token", "output_cost_per_token", "litellm_credential_name", "drop_params"],
]);
const knownInfo = new Set(["id", "mode", "base_model", "input_cost_per_token", "db_model"]);
knownInfo.add("output_cost_per_token");
const knownSettings: Readonly<Record<string, ReadonlySet<string>>> = {
  litellm_settings: new Set([
    ...["drop_params", "num_retries", "request_timeout", "fallbacks", "allowed_fails", "cache"],
    ...["max_budget", "budget_duration", "set_verbose", "json_logs", "default_fallbacks"],
  ]),
  router_settings: new Set([
    ...["routing_strategy", "num_retries", "timeout", "allowed_fails", "cooldown_time"],
    ...["model_group_alias", "fallbacks", "default_fallbacks"],
  ]),
  general_settings: new Set(["master_key"]),
};
const remarks: Readonly<Record<string, string>> = {
  database_url: "Sluice needs no database",
  alerting: "set alerts: docs/alerts.md",
  redis_host: "hosts share limits by cluster.url: docs/several-hosts.md",
  redis_port: "hosts share limits by cluster.url: docs/several-hosts.md",
  redis_password: "hosts share limits by cluster.url: docs/several-hosts.md",
  success_callback: "see metrics, traces and usage records: docs/monitor.md",
  callbacks: "see metrics, traces and usage records: docs/monitor.md",
  context_window_fallbacks: "name further targets in the virtual model",
  content_policy_fallbacks: "name further targets in the virtual model",
  cache_params: "the cache is in each proxy's memory",
};

const strategies: Readonly<Record<string, string>> = {
  "simple-shuffle": "round_robin",
  "least-busy": "least_busy",
  "latency-based-routing": "latency",
  "cost-based-routing": "cost",
};

/** A deployment with the name of its provider in Sluice. */
interface Deployment {
  readonly group: string;
  readonly target: string;
  readonly weight: number | null;
}

export function translateLitellm(document: unknown): ImportedConfig {
  if (!isObject(document)) return { config: {}, notes: ["the file is no configuration"] };
  return new Translation(document).result();
}

class Translation {
  readonly #document: Fields;
  readonly #settings: Fields;
  readonly #router: Fields;
  readonly #notes: string[] = [];
  readonly #providers = new Map<string, Record<string, unknown>>();
  readonly #names = new Map<string, string>();
  readonly #rules = new Map<string, Record<string, unknown>[]>();
  readonly #prices: Record<string, unknown> = {};

  constructor(document: Fields) {
    this.#document = document;
    this.#settings = objectOf(document["litellm_settings"]);
    this.#router = objectOf(document["router_settings"]);
  }

  result(): ImportedConfig {
    const deployments: Deployment[] = [];
    const models = this.#document["model_list"];
    if (isObject(models)) this.#note("model_list: it must be a list, each entry with - before it");
    else if (models === undefined) this.#note("model_list: the file has none, so no model either");
    for (const [i, item] of listOf(this.#document["model_list"]).entries())
      append(deployments, this.#deployment(objectOf(item), `model_list[${i}]`));
    const names = this.#modelNames(deployments);
    const { master_key: masterKey } = objectOf(this.#document["general_settings"]);
    this.#noteOthers();
    const config: Record<string, unknown> = {
      ...(masterKey === undefined ? {} : { server: { master_key: secretOf(masterKey) } }),
      providers: Object.fromEntries(this.#providers),
      ...names,
      ...(this.#rules.size === 0 ? {} : { rate_limits: { models: this.#modelRules() } }),
      ...this.#budget(),
      ...(Object.keys(this.#prices).length === 0 ? {} : { prices: this.#prices }),
      ...(isOn(this.#settings["cache"]) ? { cache: { enabled: true } } : {}),
    };
    if (this.#providers.size === 0) delete config["providers"];
    return { config, notes: this.#notes };
  }

  #note(text: string): void {
    if (!this.#notes.includes(text)) this.#notes.push(text);
  }

  #deployment(item: Fields, place: string): readonly Deployment[] {
    const group = String(item["model_name"] ?? "");
    const params = this.#withCredentials(objectOf(item["litellm_params"]), place);
    const info = objectOf(item["model_info"]);
    const full = trimmedOrNull(params["model"]) ?? "";
    if (group === "" || full === "") {
      this.#note(`${place}: it has no model_name or model`);
      return [];
    }
    if (full === "*") {
      this.#note(`${place}: any model of any provider: callers name provider/model`);
      return [];
    }
    const slash = full.indexOf("/");
    const prefix = slash > 0 ? full.slice(0, slash) : null;
    const preset =
      prefix === null
        ? (families.find(([pattern]) => pattern.test(full))?.[1] ?? "openai")
        : prefix;
    const model = full.slice(slash + 1).replace(/^(?:responses|converse|invoke)\//, "");
    if (signed.has(preset)) {
      this.#note(
        `${place}: ${full}: Sluice makes no signatures of a cloud; configure a provider with an ` +
          "API key by hand: docs/keys.md",
      );
      return [];
    }
    const provider = this.#provider(preset, params, model, place);
    if (provider === null) return [];
    const target = `${provider}/${model}`;
    this.#limits(target, params, place);
    this.#modelFields(provider, model, params, place);
    this.#price(target, { ...info, ...params }, place);
    for (const name of Object.keys(params))
      if (!knownParams.has(name) && !bodyFields.has(name))
        this.#note(`${place}.litellm_params.${name}: no counterpart`);
    for (const name of Object.keys(info))
      if (!knownInfo.has(name)) this.#note(`${place}.model_info.${name}: no counterpart`);
    const { weight } = params;
    const isInteger = typeof weight === "number" && Number.isInteger(weight) && weight > 0;
    if (weight !== undefined && !isInteger)
      this.#note(`${place}.litellm_params.weight: weights are integers from 1 to 1000`);
    return [{ group, target, weight: isInteger ? Math.min(weight, 1000) : null }];
  }

  #withCredentials(params: Fields, place: string): Fields {
    const { litellm_credential_name: name } = params;
    if (name === undefined) return params;
    const credential = listOf(this.#document["credential_list"])
      .map(objectOf)
      .find(({ credential_name: candidate }) => candidate === name);
    if (credential === undefined)
      this.#note(`${place}: no credential ${String(name)} is in the file`);
    return { ...objectOf(credential?.["credential_values"]), ...params };
  }

  /** The name of the provider with this address, key and so on; null without a counterpart. */
  #provider(litellm: string, params: Fields, model: string, place: string): string | null {
    const preset = renamed[litellm] ?? litellm;
    const base = trimmedOrNull(params["api_base"] ?? params["base_url"]);
    const isOwn =
      compatible.has(litellm) || (preset === "openai" && base !== null && !isOpenai(base));
    const matchingPreset = isOwn ? undefined : findPreset(preset);
    if (!isOwn && matchingPreset === undefined) {
      this.#note(`${place}: Sluice doesn't know the provider ${litellm}: configure it by hand`);
      return null;
    }
    if ((isOwn || preset === "azure") && base === null) {
      this.#note(`${place}: ${litellm} needs an api_base`);
      return null;
    }
    const version = trimmedOrNull(params["api_version"]);
    const organization = params["organization"];
    if (organization !== undefined && typeof organization !== "string")
      this.#note(`${place}.litellm_params.organization: one provider per organization`);
    const headers = {
      ...(typeof organization === "string"
        ? { "OpenAI-Organization": literalValue(organization) }
        : {}),
      ...Object.fromEntries(
        Object.entries(objectOf(params["extra_headers"])).map(([name, value]) => [
          name.replaceAll(" ", "-"),
          literalValue(value),
        ]),
      ),
    };
    const key = params["api_key"];
    const address =
      base === null ? null : addressOf(matchingPreset?.type ?? "openai", base, version);
    const fields: Record<string, unknown> = {
      ...(isOwn ? { type: "openai" } : {}),
      ...(address === null ? {} : { base_url: address }),
      ...(key === undefined
        ? {
            ...(isOwn || matchingPreset?.isKeyless === true
              ? {}
              : { api_key: `\${${matchingPreset!.keyVariable}}` }),
          }
        : { api_key: secretOf(key) }),
      ...(version === null || preset !== "azure" ? {} : { api_version: literalValue(version) }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...this.#reliability(),
    };
    const identity = JSON.stringify([isOwn ? "" : preset, fields]);
    const name = this.#names.get(identity) ?? this.#newName(isOwn ? "custom" : preset);
    if (!this.#names.has(identity)) {
      this.#names.set(identity, name);
      const type = name === preset || isOwn ? {} : { type: matchingPreset!.type };
      const openai =
        matchingPreset === undefined || matchingPreset.type !== "openai" || name === preset;
      const reached = openai || address !== null ? {} : { base_url: matchingPreset.baseUrl };
      this.#providers.set(name, { ...type, ...reached, ...fields });
    }
    // These providers don't list their models, or list more than they serve.
    if (isOwn || preset === "azure") {
      const provider = this.#providers.get(name)!;
      const models = new Set([...((provider["models"] as string[] | undefined) ?? []), model]);
      provider["models"] = [...models].some((model) => model.includes("*")) ? ["*"] : [...models];
    }
    return name;
  }

  #newName(base: string): string {
    for (let i = 1; ; i++) {
      const name = i === 1 ? base : `${base}-${i}`;
      if (!this.#providers.has(name)) return name;
    }
  }

  /** Retries, breaker and deadline, which LiteLLM sets for all. */
  #reliability(): Fields {
    const countOf = (name: string): number | null =>
      numberOf(this.#router[name]) ?? numberOf(this.#settings[name]);
    const retries = countOf("num_retries");
    const fails = countOf("allowed_fails");
    const cooldown = countOf("cooldown_time");
    const timeout = numberOf(this.#router["timeout"]) ?? countOf("request_timeout");
    return {
      ...(retries === null ? {} : { retries: Math.min(10, Math.round(retries)) }),
      ...(fails === null ? {} : { breaker_failures: Math.min(1000, Math.round(fails) + 1) }),
      ...(cooldown === null ? {} : { breaker_open_ms: clamp(cooldown * 1000, 100, 300_000) }),
      ...(timeout === null ? {} : { first_byte_timeout_ms: clamp(timeout * 1000, 1, 3_600_000) }),
    };
  }

  #limits(target: string, params: Fields, place: string): void {
    const limits = minuteLimits(params);
    if (limits.length === 0) return;
    if (target.includes("*"))
      return this.#note(`${place}: limits of many models: set them by hand`);
    const existing = this.#rules.get(target);
    if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(limits))
      this.#note(`${place}: ${target} has other limits in an earlier deployment, which apply`);
    if (existing === undefined) this.#rules.set(target, limits);
  }

  #modelRules(): readonly object[] {
    return [...this.#rules].map(([model, limits]) => ({ model, limits }));
  }

  #modelFields(provider: string, model: string, params: Fields, place: string): void {
    const timeout = numberOf(params["timeout"]);
    const streamTimeout = numberOf(params["stream_timeout"]);
    const defaults = Object.fromEntries(
      Object.entries(params)
        .filter(([name, value]) => bodyFields.has(name) && value !== null)
        .map(([name, value]) => [name, literalValue(value)]),
    );
    const entry = {
      models: [model],
      ...(streamTimeout === null
        ? {}
        : { first_byte_timeout_ms: clamp(streamTimeout * 1000, 1, 86_400_000) }),
      ...(timeout === null ? {} : { total_timeout_ms: clamp(timeout * 1000, 1, 86_400_000) }),
      ...(Object.keys(defaults).length === 0 ? {} : { defaults }),
    };
    if (Object.keys(entry).length === 1) return;
    const fields = this.#providers.get(provider)!;
    const entries = (fields["per_model"] ?? []) as (typeof entry)[];
    const existing = entries.find(({ models }) => models[0] === model);
    if (existing === undefined) fields["per_model"] = [...entries, entry];
    else if (JSON.stringify(existing) !== JSON.stringify(entry))
      this.#note(`${place}: ${provider}/${model} has other parameters in an earlier deployment`);
  }

  #price(target: string, params: Fields, place: string): void {
    const input = numberOf(params["input_cost_per_token"]);
    const output = numberOf(params["output_cost_per_token"]);
    if (input === null && output === null) return;
    if (input === null || output === null || target.includes("*"))
      return this.#note(`${place}: a price needs input, output and one model: set prices by hand`);
    this.#prices[target] = { input: perMillion(input), output: perMillion(output) };
  }

  /** `virtual_models` and `aliases`. */
  #modelNames(deployments: readonly Deployment[]): Fields {
    const groups = new Map<string, Deployment[]>();
    for (const deployment of deployments) {
      const group = groups.get(deployment.group) ?? [];
      if (group.some(({ target }) => target === deployment.target)) continue;
      groups.set(deployment.group, [...group, deployment]);
    }
    const strategy = this.#strategy();
    const virtual: Record<string, unknown> = {};
    const aliases: Record<string, string> = {};
    for (const [name, group] of groups) {
      const fallbacks = this.#fallbacksOf(name).flatMap((fallback) => groups.get(fallback) ?? []);
      const targets = [...group];
      for (const fallback of fallbacks)
        if (!targets.some(({ target }) => target === fallback.target)) targets.push(fallback);
      const [{ target }] = group as [Deployment];
      if (targets.length === 1) {
        if (name.includes("*") && name === target) continue;
        if (name.includes("*") && !target.endsWith("/*"))
          this.#note(`model ${name}: an alias with an asterisk needs a target such as openai/*`);
        else if (name !== target) aliases[name] = target;
        continue;
      }
      if (targets.some((entry) => entry.target.includes("*")) || name.includes("*")) {
        this.#note(`model ${name}: a virtual model needs whole names of models`);
        continue;
      }
      const isFailover = targets.length > group.length;
      if (isFailover && group.length > 1)
        this.#note(`model ${name}: with fallbacks its deployments are tried in order, not in turn`);
      virtual[name] = {
        strategy: isFailover ? "failover" : strategy,
        targets: targets.map(({ target: model, weight }) => ({
          model,
          ...(weight === null || isFailover ? {} : { weight }),
        })),
      };
    }
    for (const [name, withName] of Object.entries(objectOf(this.#router["model_group_alias"]))) {
      const group = trimmedOrNull(isObject(withName) ? withName["model"] : withName) ?? "";
      const target = virtual[group] === undefined ? aliases[group] : group;
      if (target === undefined) this.#note(`model_group_alias ${name}: no model ${group} is known`);
      else aliases[name] = target;
    }
    return {
      ...(Object.keys(virtual).length === 0 ? {} : { virtual_models: virtual }),
      ...(Object.keys(aliases).length === 0 ? {} : { aliases }),
    };
  }

  #fallbacksOf(name: string): readonly string[] {
    const fallbacksOfName = [this.#router, this.#settings].flatMap(({ fallbacks }) =>
      listOf(fallbacks).flatMap((entry) => listOf(objectOf(entry)[name])),
    );
    const defaults = [this.#router, this.#settings].flatMap(({ default_fallbacks: all }) =>
      listOf(all),
    );
    return (fallbacksOfName.length === 0 ? defaults : fallbacksOfName)
      .map((item) => String(item))
      .filter((item) => item !== name);
  }

  #strategy(): string {
    const configured = this.#router["routing_strategy"];
    const strategy = configured === undefined ? "round_robin" : strategies[String(configured)];
    if (strategy === undefined)
      this.#note(
        `router_settings.routing_strategy ${String(configured)}: round_robin in its place`,
      );
    return strategy ?? "round_robin";
  }

  #budget(): Fields {
    const amount = numberOf(this.#settings["max_budget"]);
    if (amount === null || amount <= 0) return {};
    const period = budgetPeriod(this.#settings["budget_duration"]);
    if (period.note !== null) this.#note(`litellm_settings.budget_duration: ${period.note}`);
    const limits = [{ ...period.period, amount }];
    return { budgets: { user_paths: [{ path: "/", limits }] } };
  }

  #noteOthers(): void {
    for (const [section, knownKeys] of Object.entries(knownSettings))
      for (const name of Object.keys(objectOf(this.#document[section])))
        if (!knownKeys.has(name))
          this.#note(`${section}.${name}: ${remarks[name] ?? "no counterpart"}`);
    for (const name of Object.keys(this.#document))
      if (name !== "model_list" && name !== "credential_list" && !(name in knownSettings))
        this.#note(
          `${name}: ${
            name === "environment_variables" ? "set them in Sluice's environment" : "no counterpart"
          }`,
        );
  }
}

/** `rpm`, `tpm` and `max_parallel_requests` as limits of a rule. */
function minuteLimits(params: Fields): Record<string, unknown>[] {
  const count = (name: string): number | null => {
    const limit = numberOf(params[name]);
    return limit === null ? null : Math.max(1, Math.round(limit));
  };
  const [rpm, tpm, parallel] = [count("rpm"), count("tpm"), count("max_parallel_requests")];
  const minute = {
    ...(rpm === null ? {} : { max_requests: rpm }),
    ...(tpm === null ? {} : { max_tokens: tpm }),
  };
  return [
    ...(rpm === null && tpm === null ? [] : [{ period: "minute", ...minute }]),
    ...(parallel === null ? [] : [{ period: "concurrent", max_requests: parallel }]),
  ];
}

function numberOf(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : null;
}

function isOn(value: unknown): boolean {
  return value === true || value === "true" || value === "True";
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.round(value)));
}

/** A value of the file: `os.environ/NAME` becomes `${NAME}`, and a literal `$` stays one. */
function literalValue(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const name = /^os\.environ\/(\w+)$/.exec(value.trim())?.[1];
  if (name !== undefined) return `\${${name}}`;
  return escapedDollars(value);
}

function secretOf(value: unknown): unknown {
  return literalValue(typeof value === "number" ? String(value) : value);
}

function isOpenai(base: string): boolean {
  return base.includes("api.openai.com");
}

/** An api_base as Sluice expects it: up to the endpoint. */
function addressOf(type: string, base: string, version: string | null): string {
  const address = String(literalValue(base)).replace(/\/+$/, "");
  if (type === "azure") return azureAddress(address, version);
  if (type === "anthropic" && !/\/v1$/.test(address)) return `${address}/v1`;
  if (type === "ollama" && !/\/v1$/.test(address)) return `${address}/v1`;
  return address;
}
