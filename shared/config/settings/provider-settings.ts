/**
 * The fields of a provider in the file. How declared providers, keys in the environment and presets
 * become one list is in `../resolve/providers.ts`.
 */
import { type Operation, operations } from "../../operation.js";
import { choice, passthroughAccess } from "../kinds/choice-kinds.js";
import { forwardedHeaders, modelList, names } from "../kinds/list-kinds.js";
import { integer } from "../kinds/number-kinds.js";
import { apiKey, apiKeys, type OwnHeaders, ownHeaders } from "../kinds/secret-kinds.js";
import { apiVersion, filePath, text } from "../kinds/text-kinds.js";
import { baseUrl, outboundProxy } from "../kinds/url-kinds.js";
import {
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
    defaultText: "the preset's, else openai",
    example: "openai",
    meaning:
      "Its API: openai for every OpenAI-compatible one, simulator for the built-in one that needs no network.",
  }),
  base_url: field({
    kind: baseUrl,
    defaultValue: null,
    defaultText: "the preset's",
    example: "http://127.0.0.1:9100/v1",
    meaning:
      "Where it is, up to what comes before /chat/completions; a name from the table of presets may leave it out, and so may the types anthropic, gemini, ollama and vllm.",
  }),
  api_key: field({
    kind: apiKey,
    defaultValue: null,
    defaultText: "none",
    example: "none",
    meaning: "The credential; none, an empty one or an unset variable sends none.",
  }),
  api_keys: field<readonly (WeightedKey | WeightedKeyFile)[] | null>({
    kind: apiKeys,
    defaultValue: null,
    defaultText: "none",
    example: '["${KEY_1}", "${KEY_2}"]',
    meaning:
      "Several keys in place of api_key, which take turns by their weights; one that is refused or limited rests.",
  }),
  api_key_file: field<string | null>({
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    example: "/run/secrets/key",
    meaning: "A file that holds the key in place of api_key; it is read again when it changes.",
  }),
  api_key_command: field<string | null>({
    kind: text,
    defaultValue: null,
    defaultText: "none",
    example: "gcloud auth print-access-token",
    meaning:
      "A command that prints the key in place of api_key; it is run again ahead of the key's expiry.",
  }),
  headers: field<OwnHeaders>({
    kind: ownHeaders,
    defaultValue: { values: [], files: [] },
    defaultText: "none",
    example: "{ X-Project: red }",
    meaning: "Headers sent with every request, in place of a caller's of the same name.",
  }),
  account: field<string | null>({
    kind: text,
    defaultValue: null,
    defaultText: "the provider's own",
    example: "acme",
    meaning:
      "A name for the account that it shares with other providers that give the same name: what one of them has stored, the others can continue.",
  }),
  api_version: field<string | null>({
    kind: apiVersion,
    defaultValue: null,
    defaultText: "none",
    example: "2024-10-21",
    meaning:
      "For the type azure, the dated API version, such as 2024-10-21; without one its v1 API is used.",
  }),
  operations: field<readonly Operation[] | null>({
    kind: names(operations),
    defaultValue: null,
    defaultText: "the preset's, else the type's",
    example: "[chat_completions]",
    meaning:
      "The operations it offers; messages and responses that it doesn't offer are translated to an operation it does.",
  }),
  models: field<readonly string[] | null>({
    kind: modelList,
    defaultValue: null,
    defaultText: "what its /models lists",
    example: '["*"]',
    meaning:
      'The model ids it serves; ["*"] accepts any, and ids beside it are those that are listed.',
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
    meaning:
      "Callers' headers that it gets besides those that every provider gets; x-team-* stands for all that begin so.",
  }),
  translation: field<TranslationMode>({
    kind: choice(translationModes),
    defaultValue: "lenient",
    defaultText: "lenient",
    meaning:
      "Whether a request that is translated is sent without what the provider's dialect can't say, and X-Sluice-Dropped names it, or is refused (strict).",
  }),
  native_requests: field<NativeMode>({
    kind: choice(nativeModes),
    defaultValue: "fitted",
    defaultText: "fitted",
    meaning:
      "Whether a request that isn't translated is sent without what its provider is known to refuse, and X-Sluice-Dropped names it, or passes as it came (untouched).",
  }),
  proxy: field<string | null>({
    kind: outboundProxy,
    defaultValue: null,
    defaultText: "HTTPS_PROXY or HTTP_PROXY",
    example: "http://proxy.example.com:3128",
    meaning: "The proxy that its connections go through; none connects directly.",
  }),
  proxy_file: field<string | null>({
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    example: "/etc/sluice/proxy-url",
    meaning:
      "A file that holds the address of the proxy, with user and password, in place of proxy; read when a proxy of Sluice starts.",
  }),
  ca_file: field<string | null>({
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    example: "/etc/sluice/ca.pem",
    meaning:
      "A file of certificates in PEM form that are trusted for it and its proxy, besides the usual ones.",
  }),
  connect_timeout_ms: field({
    kind: timeout,
    defaultValue: 5000,
    defaultText: "5000",
    meaning: "How long connecting may take.",
  }),
  first_byte_timeout_ms: field({
    kind: timeout,
    defaultValue: 600_000,
    defaultText: "600000",
    meaning: "How long it may send nothing before its response begins.",
  }),
  idle_timeout_ms: field({
    kind: timeout,
    defaultValue: 300_000,
    defaultText: "300000",
    meaning: "How long it may send nothing within a response.",
  }),
  max_tokens_default: field({
    kind: integer({ min: 1, max: 10_000_000 }),
    defaultValue: 32_000,
    defaultText: "32000",
    meaning: "The limit on output tokens where a dialect requires one and the caller gave none.",
  }),
  max_connections: field({
    kind: integer({ min: 1, max: 65_535 }),
    defaultValue: 4096,
    defaultText: "4096",
    meaning: "How many connections a proxy opens to it at most.",
  }),
  retries: field({
    kind: integer({ min: 0, max: 10 }),
    defaultValue: 1,
    defaultText: "1",
    meaning:
      "How often a model request is sent to it again after a 429, a 5xx or a broken connection, before another target is tried.",
  }),
  retry_wait_max_ms: field({
    kind: integer({ min: 0, max: 60_000 }, "milliseconds"),
    defaultValue: 2000,
    defaultText: "2000",
    meaning:
      "How long such a retry waits at most; a Retry-After that asks for more is not waited for.",
  }),
  breaker_failures: field({
    kind: integer({ min: 0, max: 1000 }),
    defaultValue: 5,
    defaultText: "5",
    meaning:
      "Failures in a row after which the circuit of one of its models opens, so that other targets are preferred; 0 never opens it.",
  }),
  breaker_open_ms: field({
    kind: integer({ min: 100, max: 300_000 }, "milliseconds"),
    defaultValue: 10_000,
    defaultText: "10000",
    meaning:
      "How long the circuit stays open; twice as long after each further failure, up to five minutes.",
  }),
} as const;

/** Beside them; the fields of their entries are in `model-traits-settings.ts`. */
export const providerLists = {
  model_traits: {
    entriesMax: 100,
    meaning:
      "What its models take of a translated request, where the built-in tables don't know it or are wrong.",
  },
  per_model: {
    entriesMax: 100,
    meaning:
      "How requests to its models are sent: deadlines, fields that are set, added or left out.",
  },
} as const satisfies Readonly<Record<string, EntryList>>;

/** The checked fields of one provider, by their keys in the file. */
export type ProviderFields = {
  readonly [K in keyof typeof providerSettings]: (typeof providerSettings)[K]["defaultValue"];
};

/** The models of a simulator without `models`. */
export const simulatorModels: readonly string[] = ["sim-fast", "sim-slow"];
