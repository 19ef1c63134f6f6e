/**
 * The providers that Sluice knows by name: their API, their address, the variables that register
 * them (docs/configuration.md), and how they differ from their type. How these join the file's
 * providers is in `../build/provider-configs.ts`.
 */
import {
  lenientHost,
  openaiChat,
  openaiResponses,
  plainChat,
  plainResponses,
  strictHost,
} from "../host-traits.js";
import { openaiOperations } from "../provider-type.js";
import { ownPresets } from "./own-presets.js";
import { plainPresets } from "./plain-presets.js";
import { type Preset, preset } from "./preset.js";

export const presets: readonly Preset[] = [
  preset({
    name: "openai",
    type: "openai",
    keyVariable: "OPENAI_API_KEY",
    baseUrl: "https://api.openai.com/v1",
    operations: openaiOperations,
    chat: openaiChat,
    responses: openaiResponses,
  }),
  preset({ name: "anthropic", type: "anthropic", keyVariable: "ANTHROPIC_API_KEY" }),
  preset({ name: "gemini", type: "gemini", keyVariable: "GEMINI_API_KEY" }),
  preset({ name: "azure", type: "azure", keyVariable: "AZURE_OPENAI_API_KEY" }),
  preset({ name: "ollama", type: "ollama", keyVariable: "OLLAMA_API_KEY", keyless: true }),
  preset({ name: "vllm", type: "vllm", keyVariable: "VLLM_API_KEY", keyless: true }),
  preset({
    name: "groq",
    type: "openai",
    keyVariable: "GROQ_API_KEY",
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
  }),
  preset({
    name: "openrouter",
    type: "openai",
    keyVariable: "OPENROUTER_API_KEY",
    baseUrl: "https://openrouter.ai/api/v1",
    operations: ["chat_completions", "completions", "responses", "messages", "embeddings"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["user", "verbosity", "parallel_tool_calls"]),
      messageOrder: "any",
      reasoningWithTools: "taken",
    },
    responses: { agentTools: "taken", stores: false, refusedFields: ["store"] },
  }),
  preset({
    name: "xai",
    type: "openai",
    keyVariable: "XAI_API_KEY",
    baseUrl: "https://api.x.ai/v1",
    operations: ["chat_completions", "responses", "images"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["user", "parallel_tool_calls"]),
      earlierReasoning: "refused",
      messageOrder: "any",
    },
    responses: { ...plainResponses, agentTools: "refused" },
  }),
  preset({
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
  }),
  preset({
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
  }),
  preset({
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
  }),
  preset({
    name: "fireworks",
    type: "openai",
    keyVariable: "FIREWORKS_API_KEY",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    operations: ["chat_completions", "completions", "responses", "embeddings"],
    responses: { ...plainResponses, agentTools: "refused" },
  }),
  preset({
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
  }),
  preset({
    name: "perplexity",
    type: "openai",
    keyVariable: "PERPLEXITY_API_KEY",
    baseUrl: "https://api.perplexity.ai",
    operations: ["chat_completions"],
    listsModels: false,
  }),
  preset({
    name: "cohere",
    type: "openai",
    keyVariable: "COHERE_API_KEY",
    baseUrl: "https://api.cohere.ai/compatibility/v1",
    operations: ["chat_completions", "embeddings"],
    listsModels: false,
  }),
  preset({
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
  }),
  preset({
    name: "moonshot",
    type: "openai",
    keyVariable: "MOONSHOT_API_KEY",
    baseUrl: "https://api.moonshot.ai/v1",
    operations: ["chat_completions", "files"],
    chat: {
      ...plainChat,
      optionalFields: new Set(["prompt_cache_key", "safety_identifier"]),
      earlierReasoning: "required",
      messageOrder: "any",
      native: { ...lenientHost, takesDeveloper: false },
    },
  }),
  ...plainPresets,
  ...ownPresets,
];

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

export const presetNames = presets.map(({ name }) => name);
