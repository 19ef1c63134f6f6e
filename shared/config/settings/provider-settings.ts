/**
 * The fields of a provider in the file. `../resolve/providers.ts` merges declared providers, keys
 * in the environment and presets.
 */

import {
  type AdaptiveConcurrency,
  type UpstreamLimitMode,
  upstreamLimitModes,
} from "../../domain/upstream-limits.js";
import { type Operation, operations } from "../../operation.js";
import { boolean, choice, passthroughAccess } from "../kinds/choice-kinds.js";
import { forwardedHeaders, listOfNames, modelList } from "../kinds/list-kinds.js";
import { concurrencyRange, integer } from "../kinds/number-kinds.js";
import { apiKey, apiKeys, type ExtraHeaders, extraHeaders } from "../kinds/secret-kinds.js";
import { apiVersion, filePath, text } from "../kinds/text-kinds.js";
import { baseUrl, outboundProxy } from "../kinds/url-kinds.js";
import {
  type CacheMode,
  cacheModes,
  type NativeMode,
  nativeModes,
  type PassthroughAccess,
  type ProviderType,
  providerTypes,
  type TranslationMode,
  translationModes,
  type WeightedKey,
  type WeightedKeyFile,
} from "../provider-type.js";
import type { EntryList, Field } from "./setting.js";

interface ProviderField<T> extends Field<T> {
  readonly defaultValue: T;
  readonly defaultText: string;
}

/** Infers the type of a field's value from its row. */
function field<T>(row: ProviderField<T>): ProviderField<T> {
  return row;
}

const timeout = integer({ min: 1, max: 3_600_000 }, "milliseconds");

/** By the key in the file, under `providers.<name>`. */
export const providerSettings = {
  type: field<ProviderType | null>({
    kind: choice(providerTypes),
    defaultValue: null,
    defaultText: "the preset's, otherwise openai",
    example: "openai",
    meaning: "API of the provider; openai for all compatible ones.",
  }),
  base_url: field({
    kind: baseUrl,
    defaultValue: null,
    defaultText: "the preset's",
    example: "http://127.0.0.1:9100/v1",
    meaning:
      "Address up to /chat/completions; optional for presets and the types anthropic, gemini, ollama and vllm.",
  }),
  api_key: field({
    kind: apiKey,
    defaultValue: null,
    defaultText: "none",
    example: "none",
    meaning: "The key; without one, or if it is empty or an unset variable, Sluice sends none.",
  }),
  api_keys: field<readonly (WeightedKey | WeightedKeyFile)[] | null>({
    kind: apiKeys,
    defaultValue: null,
    defaultText: "none",
    example: '["${KEY_1}", "${KEY_2}"]',
    meaning: "Several keys, used in turn by weight; Sluice pauses a refused or limited one.",
  }),
  api_key_file: field<string | null>({
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    example: "/run/secrets/key",
    meaning: "File with the key, read again when it changes.",
  }),
  api_key_command: field<string | null>({
    kind: text,
    defaultValue: null,
    defaultText: "none",
    example: "gcloud auth print-access-token",
    meaning: "Shell command that prints the key; run again before the key expires.",
  }),
  headers: field<ExtraHeaders>({
    kind: extraHeaders,
    defaultValue: { values: [], files: [] },
    defaultText: "none",
    example: "{ X-Project: red }",
    meaning: "Headers added to every request; they replace the caller's.",
  }),
  account: field<string | null>({
    kind: text,
    defaultValue: null,
    defaultText: "the provider's own",
    example: "acme",
    meaning: "Providers with the same account can continue each other's stored objects.",
  }),
  api_version: field<string | null>({
    kind: apiVersion,
    defaultValue: null,
    defaultText: "none",
    example: "2024-10-21",
    meaning: "Dated API version for the type azure, such as 2024-10-21 (default: the v1 API).",
  }),
  operations: field<readonly Operation[] | null>({
    kind: listOfNames(operations),
    defaultValue: null,
    defaultText: "the preset's, otherwise the type's",
    example: "[chat_completions]",
    meaning: "Operations that the provider offers; others are translated where possible.",
  }),
  models: field<readonly string[] | null>({
    kind: modelList,
    defaultValue: null,
    defaultText: "what its /models lists",
    example: '["*"]',
    meaning: 'Model ids; ["*"] accepts any, and /v1/models lists those beside it.',
  }),
  passthrough: field<PassthroughAccess | null>({
    kind: passthroughAccess,
    defaultValue: null,
    defaultText: "server.passthrough",
    example: "all",
    meaning: "Who may use /p/{provider}/… of this provider.",
  }),
  forward_headers: field<readonly string[]>({
    kind: forwardedHeaders,
    defaultValue: [],
    defaultText: "none",
    example: "[traceparent]",
    meaning: "Further headers of callers that are forwarded, such as x-team-*.",
  }),
  translation: field<TranslationMode>({
    kind: choice(translationModes),
    defaultValue: "lenient",
    defaultText: "lenient",
    meaning:
      "Fields that a translation can't express: lenient drops and names them in X-Sluice-Dropped, strict refuses the request.",
  }),
  native_requests: field<NativeMode>({
    kind: choice(nativeModes),
    defaultValue: "fitted",
    defaultText: "fitted",
    meaning:
      "Untranslated requests: fitted removes fields that the provider is known to refuse, and names them in X-Sluice-Dropped; untouched keeps them.",
  }),
  cache: field<CacheMode>({
    kind: choice(cacheModes),
    defaultValue: "auto",
    defaultText: "auto",
    meaning: "auto adds breakpoints of the prompt cache to translated requests to Anthropic's API.",
  }),
  proxy: field<string | null>({
    kind: outboundProxy,
    defaultValue: null,
    defaultText: "HTTPS_PROXY or HTTP_PROXY",
    example: "http://proxy.example.com:3128",
    meaning: "Outbound proxy; the value none connects directly.",
  }),
  proxy_file: field<string | null>({
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    example: "/etc/sluice/proxy-url",
    meaning: "File with the address, user and password of the outbound proxy, read at the start.",
  }),
  ca_file: field<string | null>({
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    example: "/etc/sluice/ca.pem",
    meaning: "PEM file of further trusted certificates.",
  }),
  connect_timeout_ms: field({
    kind: timeout,
    defaultValue: 5000,
    defaultText: "5000",
    meaning: "Longest time to connect.",
  }),
  first_byte_timeout_ms: field({
    kind: timeout,
    defaultValue: 600_000,
    defaultText: "600000",
    meaning: "Longest time until a response begins.",
  }),
  idle_timeout_ms: field({
    kind: timeout,
    defaultValue: 300_000,
    defaultText: "300000",
    meaning: "Longest silence within a response.",
  }),
  max_tokens_default: field({
    kind: integer({ min: 1, max: 10_000_000 }),
    defaultValue: 32_000,
    defaultText: "32000",
    meaning: "Output limit where the dialect requires one and the caller gave none.",
  }),
  max_connections: field({
    kind: integer({ min: 1, max: 65_535 }),
    defaultValue: 4096,
    defaultText: "4096",
    meaning: "Connections of one proxy to the provider.",
  }),
  retries: field({
    kind: integer({ min: 0, max: 10 }),
    defaultValue: 1,
    defaultText: "1",
    meaning: "Retries after a 429, a 5xx or a broken connection, before the next target.",
  }),
  retry_wait_max_ms: field({
    kind: integer({ min: 0, max: 60_000 }, "milliseconds"),
    defaultValue: 2000,
    defaultText: "2000",
    meaning: "Longest wait before a retry; a longer Retry-After means no retry.",
  }),
  breaker_failures: field({
    kind: integer({ min: 0, max: 1000 }),
    defaultValue: 5,
    defaultText: "5",
    meaning:
      "Consecutive failures after which a model's circuit opens, so that virtual models skip it; 0: never.",
  }),
  breaker_open_ms: field({
    kind: integer({ min: 100, max: 300_000 }, "milliseconds"),
    defaultValue: 10_000,
    defaultText: "10000",
    meaning:
      "Time for which a circuit stays open; each further failure doubles it, up to five minutes.",
  }),
  upstream_limits: field<UpstreamLimitMode>({
    kind: choice(upstreamLimitModes),
    defaultValue: "observe",
    defaultText: "observe",
    meaning:
      "The provider's own limits, from its answers: observe shows them, avoid also sends nothing to exhausted models.",
  }),
  trust_limits: field({
    kind: boolean,
    defaultValue: true,
    defaultText: "true",
    meaning: "Whether avoid uses the counts that the provider reports; false: only its 429s.",
  }),
  adaptive_concurrency: field<AdaptiveConcurrency | null>({
    kind: concurrencyRange,
    defaultValue: null,
    defaultText: "none",
    example: "{ min: 2, max: 64 }",
    meaning: "Bounds between which Sluice adapts the requests in flight to a model to its latency.",
  }),
} as const;

/** The lists beside them; `model-traits-settings.ts` has the fields of their entries. */
export const providerLists = {
  model_traits: {
    entriesMax: 100,
    meaning: "Corrections of the built-in tables: what models accept in translated requests.",
  },
  per_model: {
    entriesMax: 100,
    meaning: "Deadlines and body fields by model.",
  },
} as const satisfies Readonly<Record<string, EntryList>>;

/** The checked fields of one provider, by their keys in the file. */
export type ProviderFields = {
  readonly [K in keyof typeof providerSettings]: (typeof providerSettings)[K]["defaultValue"];
};

/** The models of a simulator without `models`. */
export const simulatorModels: readonly string[] = ["sim-fast", "sim-slow"];
