/** Where a provider has its operations, below its base URL. */
import type { ProviderConfig } from "../shared/config/config.js";
import type { Operation } from "../shared/operation.js";

const paths: Readonly<Record<Operation, string>> = {
  chat_completions: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
  count_tokens: "/messages/count_tokens",
  embeddings: "/embeddings",
  speech: "/audio/speech",
  transcriptions: "/audio/transcriptions",
  translations: "/audio/translations",
  images: "/images/generations",
  files: "/files",
  batches: "/batches",
  realtime: "/realtime",
};

/** With its leading slash. */
export function upstreamPath(_provider: ProviderConfig, operation: Operation, _model: string): string {
  return paths[operation];
}
