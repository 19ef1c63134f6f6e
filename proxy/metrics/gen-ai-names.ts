/**
 * What the OpenTelemetry conventions for generative AI call our operations and types of providers.
 * Where they have no name, ours is used, as they allow.
 */
import type { ProviderType } from "../../shared/config/provider-type.js";
import type { Operation } from "../../shared/operation.js";

const operationNames: Partial<Record<Operation, string>> = {
  chat_completions: "chat",
  responses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
  generate_content: "generate_content",
  stream_generate_content: "generate_content",
  embed_content: "embeddings",
  batch_embed_contents: "embeddings",
};

export function operationName(operation: Operation): string {
  return operationNames[operation] ?? operation;
}

const providerNames: Partial<Record<ProviderType, string>> = {
  gemini: "gcp.gemini",
  azure: "azure.ai.openai",
};

export function providerName(type: ProviderType): string {
  return providerNames[type] ?? type;
}
