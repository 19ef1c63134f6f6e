/**
 * The names of our operations and provider types in the OpenTelemetry conventions for generative
 * AI. Where these have no name, ours is used, as they allow.
 */
import type { ProviderType } from "../../shared/config/provider-type.js";
import type { Operation } from "../../shared/operation.js";
import type { Forwarded } from "../upstream/forwarded.js";

const operationNames: Partial<Record<Operation, string>> = {
  chat_completions: "chat",
  responses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
  generate_content: "generate_content",
  stream_generate_content: "generate_content",
  interactions: "generate_content",
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

/**
 * Why an attempt failed, as one of few values, which the conventions require; empty for an answer.
 */
export function errorType({ outcome, status }: Pick<Forwarded, "outcome" | "status">): string {
  if (outcome === "complete") return status < 400 ? "" : String(status);
  return outcome === "upstream_error" ? String(status) : outcome;
}
