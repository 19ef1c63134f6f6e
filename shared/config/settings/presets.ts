/**
 * The providers that are known by name: what they speak, where they are, the variables that
 * register them (CONTRACT section 9), and in what they differ from their type. How these join the
 * file's providers is in `provider-configs.ts`.
 */
import type { Operation } from "../../operation.js";
import { type MaxTokensField, type ProviderType, providerTraits } from "../provider-type.js";

export interface Preset {
  /** The instance name that its key registers. */
  readonly name: string;
  readonly type: ProviderType;
  readonly keyVariable: string;
  /** Null: everybody has an address of their own. */
  readonly baseUrl: string | null;
  /** Whether it may do without a key, so that its address or models alone register it. */
  readonly keyless: boolean;
  readonly operations: readonly Operation[];
  readonly listsModels: boolean;
  /** Whether it takes `stream_options`; one that doesn't tells the usage of a stream unasked. */
  readonly takesStreamOptions: boolean;
  /**
   * Where it wants the limit on output tokens: OpenAI's newer models refuse the old field, other
   * servers don't know the new one.
   */
  readonly maxTokensField: MaxTokensField;
}

/** Where a preset differs from its type. */
type Quirks = Partial<
  Pick<Preset, "keyless" | "operations" | "listsModels" | "takesStreamOptions" | "maxTokensField">
>;

function preset(
  name: string,
  type: ProviderType,
  keyVariable: string,
  baseUrl: string | null,
  quirks: Quirks = {},
): Preset {
  const traits = providerTraits[type];
  return {
    name,
    type,
    keyVariable,
    baseUrl: baseUrl ?? traits.baseUrl,
    keyless: false,
    operations: traits.operations,
    listsModels: traits.listsModels,
    takesStreamOptions: true,
    maxTokensField: traits.maxTokensField,
    ...quirks,
  };
}

export const presets: readonly Preset[] = [
  preset("openai", "openai", "OPENAI_API_KEY", "https://api.openai.com/v1", {
    maxTokensField: "max_completion_tokens",
  }),
  preset("anthropic", "anthropic", "ANTHROPIC_API_KEY", null),
  preset("gemini", "gemini", "GEMINI_API_KEY", null),
  preset("azure", "azure", "AZURE_OPENAI_API_KEY", null),
  preset("ollama", "ollama", "OLLAMA_API_KEY", null, { keyless: true }),
  preset("vllm", "vllm", "VLLM_API_KEY", null, { keyless: true }),
  preset("groq", "openai", "GROQ_API_KEY", "https://api.groq.com/openai/v1", {
    operations: [
      "chat_completions",
      "responses",
      "speech",
      "transcriptions",
      "translations",
      "files",
      "batches",
    ],
  }),
  preset("openrouter", "openai", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", {
    operations: ["chat_completions", "responses", "messages", "embeddings"],
  }),
  preset("xai", "openai", "XAI_API_KEY", "https://api.x.ai/v1", {
    operations: ["chat_completions", "responses", "images"],
  }),
  preset("deepseek", "openai", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", {
    operations: ["chat_completions"],
  }),
  preset("mistral", "openai", "MISTRAL_API_KEY", "https://api.mistral.ai/v1", {
    operations: ["chat_completions", "embeddings", "transcriptions", "files"],
    takesStreamOptions: false,
  }),
  preset("together", "openai", "TOGETHER_API_KEY", "https://api.together.xyz/v1", {
    operations: [
      "chat_completions",
      "embeddings",
      "images",
      "speech",
      "transcriptions",
      "translations",
      "files",
      "batches",
    ],
  }),
  preset("fireworks", "openai", "FIREWORKS_API_KEY", "https://api.fireworks.ai/inference/v1", {
    operations: ["chat_completions", "responses", "embeddings"],
  }),
  preset("cerebras", "openai", "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1", {
    operations: ["chat_completions"],
  }),
  preset("perplexity", "openai", "PERPLEXITY_API_KEY", "https://api.perplexity.ai", {
    operations: ["chat_completions"],
    listsModels: false,
  }),
  preset("cohere", "openai", "COHERE_API_KEY", "https://api.cohere.ai/compatibility/v1", {
    operations: ["chat_completions", "embeddings"],
    listsModels: false,
  }),
  preset("deepinfra", "openai", "DEEPINFRA_API_KEY", "https://api.deepinfra.com/v1/openai", {
    operations: [
      "chat_completions",
      "embeddings",
      "images",
      "speech",
      "transcriptions",
      "translations",
    ],
  }),
  preset("moonshot", "openai", "MOONSHOT_API_KEY", "https://api.moonshot.ai/v1", {
    operations: ["chat_completions", "files"],
  }),
  preset("nvidia", "openai", "NVIDIA_API_KEY", "https://integrate.api.nvidia.com/v1", {
    operations: ["chat_completions", "embeddings"],
  }),
  preset("sambanova", "openai", "SAMBANOVA_API_KEY", "https://api.sambanova.ai/v1", {
    operations: ["chat_completions", "embeddings", "transcriptions", "translations"],
  }),
];

/** `OPENAI_BASE_URL` beside `OPENAI_API_KEY`. */
export function baseUrlVariable(preset: Preset): string {
  return preset.keyVariable.replace(/_API_KEY$/, "_BASE_URL");
}

/** `OPENAI_MODELS` beside `OPENAI_API_KEY`. */
export function modelsVariable(preset: Preset): string {
  return preset.keyVariable.replace(/_API_KEY$/, "_MODELS");
}

export function findPreset(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name);
}

/** Whose address it is, whatever the instance is called. */
export function presetAt(baseUrl: string): Preset | undefined {
  return presets.find(
    (preset) =>
      preset.baseUrl !== null &&
      URL.canParse(baseUrl) &&
      new URL(preset.baseUrl).host === new URL(baseUrl).host,
  );
}
