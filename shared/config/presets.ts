/**
 * The providers that Sluice knows by name, one row each: API, address, variables
 * (docs/reference/configuration.md) and differences from their type. `resolve/providers.ts` merges
 * them with the providers of the file.
 */
import type { Operation } from "../operation.js";
import {
  type ChatTraits,
  lenientHost,
  openaiChat,
  openaiResponses,
  plainChat,
  plainResponses,
  type ResponsesTraits,
  strictHost,
} from "./host-traits.js";
import { openaiOperations, type ProviderType, providerTraits } from "./provider-type.js";

export interface Preset {
  /** The name of the instance that its key registers. */
  readonly name: string;
  readonly type: ProviderType;
  readonly keyVariable: string;
  /** The prefix of its other variables. */
  readonly variables: string;
  /** The prefix of its keys, if known. */
  readonly keyPrefix: string | null;
  /** Null if there is no common address, as for a self-hosted server. */
  readonly baseUrl: string | null;
  /** Whether it works without a key, so that its address or models alone register it. */
  readonly isKeyless: boolean;
  readonly operations: readonly Operation[];
  readonly listsModels: boolean;
  /** How its chat completions differ from others. */
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
  /** Its name in the price list (`proxy/prices/price-list.ts`); null if it isn't there. */
  readonly priceListName: string | null;
  /**
   * Alternative spellings of its model names, which choose a host or a region or are aliases, and
   * the name that each stands for. Not names of a product or price of their own, such as `:free`.
   */
  readonly sameModel: SameModel;
  /** Names that stand for the newest model of a family: the provider's answers say which one. */
  readonly movingAlias: RegExp | null;
}

/** Replacements, repeated until nothing matches. */
export type SameModel = readonly (readonly [written: RegExp, name: string])[];

/** Missing fields have the value of the type, or the preset's name. */
type Row = Pick<Preset, "name" | "type" | "keyVariable"> & Partial<Preset>;

const rows: readonly Row[] = [
  {
    name: "openai",
    type: "openai",
    keyVariable: "OPENAI_API_KEY",
    keyPrefix: "sk-proj-",
    baseUrl: "https://api.openai.com/v1",
    operations: openaiOperations,
    chat: openaiChat,
    responses: openaiResponses,
  },
  { name: "anthropic", type: "anthropic", keyVariable: "ANTHROPIC_API_KEY", keyPrefix: "sk-ant-" },
  {
    name: "gemini",
    type: "gemini",
    keyVariable: "GEMINI_API_KEY",
    keyPrefix: "AIza",
    priceListName: "google",
  },
  { name: "azure", type: "azure", keyVariable: "AZURE_OPENAI_API_KEY" },
  {
    name: "ollama",
    type: "ollama",
    keyVariable: "OLLAMA_API_KEY",
    priceListName: null,
    isKeyless: true,
  },
  { name: "vllm", type: "vllm", keyVariable: "VLLM_API_KEY", priceListName: null, isKeyless: true },
  {
    name: "groq",
    type: "openai",
    keyVariable: "GROQ_API_KEY",
    keyPrefix: "gsk_",
    baseUrl: "https://api.groq.com/openai/v1",
    operations: [
      "chat_completions",
      "responses",
      "speech",
      "transcriptions",
      "translations",
      "files",
      "batches",
    ],
    chat: {
      ...plainChat,
      optionalFields: new Set(["user", "service_tier", "parallel_tool_calls"]),
      stopSequencesMax: 4,
      earlierReasoning: "refused",
      messageOrder: "any",
      takesReasoningObject: false,
      native: { ...strictHost, refusedFields: ["prediction"], assistantFields: ["reasoning"] },
    },
    responses: {
      agentTools: "refused",
      stores: false,
      refusedFields: ["store", "truncation", "include", "safety_identifier", "prompt_cache_key"],
    },
  },
  {
    name: "openrouter",
    type: "openai",
    keyVariable: "OPENROUTER_API_KEY",
    keyPrefix: "sk-or-",
    baseUrl: "https://openrouter.ai/api/v1",
    operations: ["chat_completions", "completions", "responses", "messages", "embeddings"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["user", "verbosity", "parallel_tool_calls"]),
      messageOrder: "any",
      reasoningWithTools: "taken",
      signatures: "in_details",
    },
    responses: { agentTools: "taken", stores: false, refusedFields: ["store"] },
    // `:free`, `:batch`, `:thinking`, `:extended` and `:beta` are listed and priced separately.
    sameModel: [[/(?:@preset\/[^:@]*|:(?:nitro|floor|exacto|online))$/i, ""]],
    movingAlias: /^~[\w.-]+\/[\w.-]+$/,
  },
  {
    name: "xai",
    type: "openai",
    keyVariable: "XAI_API_KEY",
    keyPrefix: "xai-",
    priceListName: "x-ai",
    baseUrl: "https://api.x.ai/v1",
    operations: ["chat_completions", "responses", "images"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["user", "parallel_tool_calls"]),
      earlierReasoning: "refused",
      messageOrder: "any",
    },
    responses: { ...plainResponses, agentTools: "refused" },
  },
  {
    name: "deepseek",
    type: "openai",
    keyVariable: "DEEPSEEK_API_KEY",
    baseUrl: "https://api.deepseek.com/v1",
    operations: ["chat_completions"],
    chat: {
      ...plainChat,
      optionalFields: new Set(),
      earlierReasoning: "required",
      takesTextParts: false,
      messageOrder: "any",
      takesOutputSchema: false,
      native: { ...lenientHost, takesDeveloper: false, takesMaxCompletionTokens: false },
    },
  },
  {
    name: "mistral",
    type: "openai",
    keyVariable: "MISTRAL_API_KEY",
    baseUrl: "https://api.mistral.ai/v1",
    operations: ["chat_completions", "embeddings", "moderations", "transcriptions", "files"],
    // It refuses unknown fields, and its template refuses two turns of one role in a row.
    chat: {
      ...plainChat,
      takesStreamOptions: false,
      earlierReasoning: "refused",
      messageOrder: "alternating",
      callIds: "nine_characters",
      takesReasoningObject: false,
      native: {
        ...strictHost,
        refusedFields: ["store"],
        assistantFields: ["prefix"],
        takesNames: false,
        takesDeveloper: false,
        takesMaxCompletionTokens: false,
      },
    },
  },
  {
    name: "together",
    type: "openai",
    keyVariable: "TOGETHER_API_KEY",
    baseUrl: "https://api.together.xyz/v1",
    operations: [
      "chat_completions",
      "completions",
      "embeddings",
      "rerank",
      "images",
      "speech",
      "transcriptions",
      "translations",
      "files",
      "batches",
    ],
  },
  {
    name: "fireworks",
    type: "openai",
    keyVariable: "FIREWORKS_API_KEY",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    operations: ["chat_completions", "completions", "responses", "embeddings"],
    responses: { ...plainResponses, agentTools: "refused" },
  },
  {
    name: "cerebras",
    type: "openai",
    keyVariable: "CEREBRAS_API_KEY",
    baseUrl: "https://api.cerebras.ai/v1",
    operations: ["chat_completions"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["user", "parallel_tool_calls"]),
      earlierReasoning: "refused",
      takesTextParts: false,
      takesReasoningObject: false,
      native: { ...strictHost, assistantFields: ["reasoning"] },
    },
  },
  {
    name: "perplexity",
    type: "openai",
    keyVariable: "PERPLEXITY_API_KEY",
    keyPrefix: "pplx-",
    baseUrl: "https://api.perplexity.ai",
    operations: ["chat_completions"],
    listsModels: false,
  },
  {
    name: "cohere",
    type: "openai",
    keyVariable: "COHERE_API_KEY",
    baseUrl: "https://api.cohere.ai/compatibility/v1",
    operations: ["chat_completions", "embeddings"],
    listsModels: false,
  },
  {
    name: "deepinfra",
    type: "openai",
    keyVariable: "DEEPINFRA_API_KEY",
    baseUrl: "https://api.deepinfra.com/v1/openai",
    operations: [
      "chat_completions",
      "embeddings",
      "images",
      "speech",
      "transcriptions",
      "translations",
    ],
  },
  {
    name: "moonshot",
    type: "openai",
    keyVariable: "MOONSHOT_API_KEY",
    priceListName: "moonshotai",
    baseUrl: "https://api.moonshot.ai/v1",
    operations: ["chat_completions", "files"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["prompt_cache_key", "safety_identifier"]),
      earlierReasoning: "required",
      messageOrder: "any",
      native: { ...lenientHost, takesDeveloper: false },
    },
  },
  // As far as known, these differ from their type only in address and operations.
  {
    name: "nvidia",
    type: "openai",
    keyVariable: "NVIDIA_API_KEY",
    keyPrefix: "nvapi-",
    priceListName: null,
    baseUrl: "https://integrate.api.nvidia.com/v1",
    operations: ["chat_completions", "embeddings"],
  },
  {
    name: "sambanova",
    type: "openai",
    keyVariable: "SAMBANOVA_API_KEY",
    baseUrl: "https://api.sambanova.ai/v1",
    operations: ["chat_completions", "embeddings", "transcriptions", "translations"],
  },
  {
    name: "huggingface",
    type: "openai",
    keyVariable: "HUGGINGFACE_API_KEY",
    keyPrefix: "hf_",
    priceListName: null,
    baseUrl: "https://router.huggingface.co/v1",
    operations: ["chat_completions"],
    // The host that runs the model, or how it is chosen: `:groq`, `:fastest`, `:cheapest`.
    sameModel: [[/:[\w-]+$/, ""]],
  },
  // Its list of models has another address.
  {
    name: "github-models",
    type: "openai",
    keyVariable: "GITHUB_MODELS_API_KEY",
    priceListName: null,
    variables: "GITHUB_MODELS",
    baseUrl: "https://models.github.ai/inference",
    operations: ["chat_completions", "embeddings"],
    listsModels: false,
  },
  {
    name: "scaleway",
    type: "openai",
    keyVariable: "SCALEWAY_API_KEY",
    baseUrl: "https://api.scaleway.ai/v1",
    operations: ["chat_completions", "embeddings"],
  },
  {
    name: "nebius",
    type: "openai",
    keyVariable: "NEBIUS_API_KEY",
    baseUrl: "https://api.tokenfactory.nebius.com/v1",
    operations: ["chat_completions", "embeddings"],
  },
  // An experiment (docs.hetzner.com, "Inference API") without a promised lifetime.
  {
    name: "hetzner",
    type: "openai",
    keyVariable: "HETZNER_API_KEY",
    priceListName: null,
    baseUrl: "https://inference.hetzner.com/api/v1",
    operations: ["chat_completions", "completions"],
  },
  // The OpenAI-compatible endpoints; each region has its own addresses.
  {
    name: "bedrock",
    type: "openai",
    keyVariable: "AWS_BEARER_TOKEN_BEDROCK",
    priceListName: "aws",
    variables: "BEDROCK",
    operations: ["chat_completions", "responses"],
    chat: { ...plainChat, reasoningWithTools: "in_responses" },
    sameModel: [
      [/^arn:aws[\w-]*:bedrock:[^/]*\//i, ""],
      [/^(?:us-gov|us|eu|apac|amer|global|jp|au|ca|sa)\.(?=[\w-]+\.)/i, ""],
    ],
  },
  // The OpenAI-compatible endpoint at a project's address; model names begin with google/.
  {
    name: "vertex",
    type: "openai",
    keyVariable: "VERTEX_API_KEY",
    priceListName: "google",
    operations: ["chat_completions", "interactions"],
    listsModels: false,
    chat: providerTraits.gemini.chat,
    sameModel: [
      [/^publishers\/([\w-]+)\/models\//i, "$1/"],
      [/@[\w.-]+$/, ""],
      [/^(google\/gemini-\d[\w.-]*)-(?:latest|\d{3})$/i, "$1"],
    ],
    movingAlias: /^google\/gemini-(?!\d)[\w.-]*-latest$/i,
  },
  {
    name: "sglang",
    type: "openai",
    keyVariable: "SGLANG_API_KEY",
    priceListName: null,
    baseUrl: "http://127.0.0.1:30000/v1",
    isKeyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  },
  // By default it listens on the port of Sluice.
  {
    name: "llamacpp",
    type: "openai",
    keyVariable: "LLAMACPP_API_KEY",
    priceListName: null,
    isKeyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  },
  {
    name: "lmstudio",
    type: "openai",
    keyVariable: "LMSTUDIO_API_KEY",
    priceListName: null,
    baseUrl: "http://127.0.0.1:1234/v1",
    isKeyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  },
];

export const presets: readonly Preset[] = rows.map((row) => {
  const { baseUrl, operations, listsModels, chat, responses } = providerTraits[row.type];
  return {
    variables: row.keyVariable.replace(/_API_KEY$/, ""),
    keyPrefix: null,
    baseUrl,
    isKeyless: false,
    operations,
    listsModels,
    chat,
    responses,
    priceListName: row.name,
    sameModel: [],
    movingAlias: null,
    ...row,
  };
});

export function findPreset(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name);
}

/** The preset with this address, regardless of the instance's name. */
export function presetAt(baseUrl: string): Preset | undefined {
  return presets.find(
    (preset) =>
      preset.baseUrl !== null &&
      URL.canParse(baseUrl) &&
      new URL(preset.baseUrl).host === new URL(baseUrl).host,
  );
}

/** Services whose address depends on a region or a project. */
const hostsOf: readonly (readonly [host: RegExp, name: string])[] = [
  [/^bedrock[\w-]*\.[\w.-]+\.(?:amazonaws\.com|api\.aws)$/i, "bedrock"],
  [/(?:^|-)aiplatform\.googleapis\.com$/i, "vertex"],
];

/** The service of an instance, by its address or, behind a relay, by its name. */
export function presetOf({
  name,
  baseUrl,
}: {
  readonly name: string;
  readonly baseUrl: string;
}): Preset | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const presetName = hostsOf.find(([pattern]) => pattern.test(host))?.[1];
  return presetAt(baseUrl) ?? findPreset(presetName ?? name);
}

export const presetNames = presets.map(({ name }) => name);

/** For example `OPENAI_API_KEY_FILE` for `OPENAI_API_KEY`. */
export function keyFileVariable({ keyVariable }: Preset): string {
  return `${keyVariable}_FILE`;
}

/** For example `OPENAI_BASE_URL` for `OPENAI_API_KEY`. */
export function baseUrlVariable({ variables }: Preset): string {
  return `${variables}_BASE_URL`;
}

/** For example `OPENAI_MODELS` for `OPENAI_API_KEY`. */
export function modelsVariable({ variables }: Preset): string {
  return `${variables}_MODELS`;
}
