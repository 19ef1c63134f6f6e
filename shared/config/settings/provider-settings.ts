/**
 * What a provider in the file is made of, in one table that `docs/configuration.md` is checked
 * against. How declared providers, environment keys and presets become one list is in
 * `provider-configs.ts`.
 */
import { type Operation, operations } from "../../operation.js";
import { type ProviderType, providerTypes } from "../provider-type.js";
import {
  apiKey,
  apiVersion,
  baseUrl,
  choice,
  integer,
  modelList,
  names,
  type ValueKind,
} from "./setting-kind.js";

export interface ProviderSetting<T> {
  readonly kind: ValueKind<T>;
  readonly fallback: T;
  /** The default as an operator reads it, in `unit`. */
  readonly shown: string;
  readonly unit: string | null;
  readonly meaning: string;
}

function field<T>(row: ProviderSetting<T>): ProviderSetting<T> {
  return row;
}

const timeout = integer({ min: 1, max: 3_600_000 });

/** By the key in the file, under `providers.<name>`. */
export const providerSettings = {
  type: field<ProviderType | null>({
    kind: choice(providerTypes),
    fallback: null,
    shown: "the preset's, else openai",
    unit: null,
    meaning:
      "What the provider speaks: openai for every OpenAI-compatible one, simulator for the built-in one that needs no network.",
  }),
  base_url: field({
    kind: baseUrl,
    fallback: null,
    shown: "the preset's",
    unit: null,
    meaning:
      "Where it is, up to what comes before /chat/completions; a name from the table of presets may leave it out, and so may the types anthropic, gemini, ollama and vllm.",
  }),
  api_key: field({
    kind: apiKey,
    fallback: null,
    shown: "none",
    unit: null,
    meaning: "The credential that is sent; none, an empty one or an unset variable sends none.",
  }),
  api_version: field<string | null>({
    kind: apiVersion,
    fallback: null,
    shown: "none",
    unit: null,
    meaning:
      "For the type azure, the dated API version, such as 2024-10-21; without one its v1 API is spoken.",
  }),
  operations: field<readonly Operation[] | null>({
    kind: names(operations),
    fallback: null,
    shown: "the preset's, else the type's",
    unit: null,
    meaning:
      "What can be asked of it; messages and responses that it doesn't offer are translated to what it does.",
  }),
  models: field<readonly string[] | null>({
    kind: modelList,
    fallback: null,
    shown: "what its /models lists",
    unit: null,
    meaning:
      'The model ids it serves; ["*"] takes any, and ids beside it are those that are listed.',
  }),
  connect_timeout_ms: field({
    kind: timeout,
    fallback: 5000,
    shown: "5000",
    unit: "milliseconds",
    meaning: "How long connecting may take.",
  }),
  first_byte_timeout_ms: field({
    kind: timeout,
    fallback: 600_000,
    shown: "600000",
    unit: "milliseconds",
    meaning: "How long it may be silent before its response begins.",
  }),
  idle_timeout_ms: field({
    kind: timeout,
    fallback: 300_000,
    shown: "300000",
    unit: "milliseconds",
    meaning: "How long it may be silent within a response.",
  }),
  max_tokens_default: field({
    kind: integer({ min: 1, max: 10_000_000 }),
    fallback: 32_000,
    shown: "32000",
    unit: null,
    meaning: "The limit on output tokens where a dialect requires one and the caller gave none.",
  }),
  max_connections: field({
    kind: integer({ min: 1, max: 65_535 }),
    fallback: 4096,
    shown: "4096",
    unit: null,
    meaning: "How many connections a proxy opens to it at most.",
  }),
} as const;

/** The checked fields of one provider, by their keys in the file. */
export type ProviderFields = {
  readonly [K in keyof typeof providerSettings]: (typeof providerSettings)[K]["fallback"];
};

/** What the simulator serves when its `models` don't say otherwise. */
export const simulatorModels: readonly string[] = ["sim-fast", "sim-slow"];
