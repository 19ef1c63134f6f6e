/**
 * The providers that Sluice knows by name, one row each: API, address, variables
 * (docs/reference/configuration.md), and how they differ from their type. How they join the file's
 * providers is in `resolve/providers.ts`.
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
  /** The instance name that its key registers. */
  readonly name: string;
  readonly type: ProviderType;
  readonly keyVariable: string;
  /** What the names of its other variables begin with. */
  readonly variables: string;
  /** How its keys begin, where that is known. */
  readonly keyPrefix: string | null;
  /** Null: there is no common address, as with a server of one's own. */
  readonly baseUrl: string | null;
  /** Whether it works without a key, so that its address or models alone register it. */
  readonly keyless: boolean;
  readonly operations: readonly Operation[];
  readonly listsModels: boolean;
  /** How its chat completions differ from others'. */
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
  /** Its name in the price list (`proxy/routing/price-list.ts`); null: it has no prices there. */
  readonly priceListName: string | null;
  /**
   * Other ways to write a model's name here, and what they stand for: they choose a host or a
   * region, or are an alias. Not names of a product or price of their own, such as `:free`.
   */
  readonly sameModel: SameModel;
  /** Names of no model, but of whichever is the newest: the provider's answers say which. */
  readonly movingAlias: RegExp | null;
}

/** Each match is replaced, until none is left. */
export type SameModel = readonly (readonly [written: RegExp, name: string])[];

/** Fields left out have the value of the type, or the preset's name. */
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
    keyless: true,
  },
  { name: "vllm", type: "vllm", keyVariable: "VLLM_API_KEY", priceListName: null, keyless: true },
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
      earlierReasoning: "refused",
      messageOrder: "any",
      native: { ...strictHost, assistantFields: ["reasoning"] },
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
    },
    responses: { agentTools: "taken", stores: false, refusedFields: ["store"] },
    // Listed on their own, and priced so, are `:free`, `:batch`, `:thinking`, `:extended`, `:beta`.
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
    // It refuses unknown fields, and its template two turns in a row.
    chat: {
      ...plainChat,
      takesStreamOptions: false,
      earlierReasoning: "refused",
      messageOrder: "alternating",
      callIds: "nine_characters",
      native: {
        ...strictHost,
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
    priceListName: null,
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
  // Differ from their type in address and operations only, as far as is known.
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
    priceListName: null,
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
    // The host that runs it, or how it is chosen: `:groq`, `:fastest`, `:cheapest`.
    sameModel: [[/:[\w-]+$/, ""]],
  },
  // Its list of models is at another address.
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
    priceListName: null,
    baseUrl: "https://api.scaleway.ai/v1",
    operations: ["chat_completions", "embeddings"],
  },
  {
    name: "nebius",
    type: "openai",
    keyVariable: "NEBIUS_API_KEY",
    priceListName: null,
    baseUrl: "https://api.tokenfactory.nebius.com/v1",
    operations: ["chat_completions", "embeddings"],
  },
  // An experiment of theirs (docs.hetzner.com, "Inference API"), without a promise of how long.
  {
    name: "hetzner",
    type: "openai",
    keyVariable: "HETZNER_API_KEY",
    priceListName: null,
    baseUrl: "https://inference.hetzner.com/api/v1",
    operations: ["chat_completions", "completions"],
  },
  // Its OpenAI-compatible endpoints: each region has addresses of its own.
  {
    name: "bedrock",
    type: "openai",
    keyVariable: "AWS_BEARER_TOKEN_BEDROCK",
    priceListName: "aws",
    variables: "BEDROCK",
    operations: ["chat_completions", "responses"],
    sameModel: [
      [/^arn:aws[\w-]*:bedrock:[^/]*\//i, ""],
      [/^(?:us-gov|us|eu|apac|amer|global|jp|au|ca|sa)\.(?=[\w-]+\.)/i, ""],
    ],
  },
  // Its OpenAI-compatible endpoint, in the address of a project; models are named google/….
  {
    name: "vertex",
    type: "openai",
    keyVariable: "VERTEX_API_KEY",
    priceListName: "google",
    operations: ["chat_completions"],
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
    keyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  },
  // By default it listens where Sluice does.
  {
    name: "llamacpp",
    type: "openai",
    keyVariable: "LLAMACPP_API_KEY",
    priceListName: null,
    keyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  },
  {
    name: "lmstudio",
    type: "openai",
    keyVariable: "LMSTUDIO_API_KEY",
    priceListName: null,
    baseUrl: "http://127.0.0.1:1234/v1",
    keyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  },
];

export const presets: readonly Preset[] = rows.map((row) => {
  const { baseUrl, operations, listsModels, chat, responses } = providerTraits[row.type];
  return {
    variables: row.keyVariable.replace(/_API_KEY$/, ""),
    keyPrefix: null,
    baseUrl,
    keyless: false,
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

/** The preset with this address, whatever the instance is named. */
export function presetAt(baseUrl: string): Preset | undefined {
  return presets.find(
    (preset) =>
      preset.baseUrl !== null &&
      URL.canParse(baseUrl) &&
      new URL(preset.baseUrl).host === new URL(baseUrl).host,
  );
}

/** Services whose address is of a region or a project. */
const hostsOf: readonly (readonly [host: RegExp, name: string])[] = [
  [/^bedrock[\w-]*\.[\w.-]+\.(?:amazonaws\.com|api\.aws)$/i, "bedrock"],
  [/(?:^|-)aiplatform\.googleapis\.com$/i, "vertex"],
];

/** The service behind an instance, by its address or, behind a relay, by its name. */
export function presetOf({
  name,
  baseUrl,
}: {
  readonly name: string;
  readonly baseUrl: string;
}): Preset | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const known = hostsOf.find(([pattern]) => pattern.test(host))?.[1];
  return presetAt(baseUrl) ?? findPreset(known ?? name);
}

export const presetNames = presets.map(({ name }) => name);

/** `OPENAI_API_KEY_FILE` beside `OPENAI_API_KEY`. */
export function keyFileVariable({ keyVariable }: Preset): string {
  return `${keyVariable}_FILE`;
}

/** `OPENAI_BASE_URL` beside `OPENAI_API_KEY`. */
export function baseUrlVariable({ variables }: Preset): string {
  return `${variables}_BASE_URL`;
}

/** `OPENAI_MODELS` beside `OPENAI_API_KEY`. */
export function modelsVariable({ variables }: Preset): string {
  return `${variables}_MODELS`;
}
