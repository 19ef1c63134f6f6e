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

/** Azure's dated API keeps these below the deployment that a request names; what is left of its API stands beside them. */
const ofDeployment: ReadonlySet<Operation> = new Set<Operation>(["chat_completions", "embeddings", "speech", "transcriptions", "translations", "images"]);

/** With its leading slash, and the query that the provider's API wants. */
export function upstreamPath({ apiVersion }: ProviderConfig, operation: Operation, model: string): string {
  const path = paths[operation];
  if (apiVersion === null) return path;
  return `${ofDeployment.has(operation) ? `/deployments/${encodeURIComponent(model)}` : ""}${path}?api-version=${apiVersion}`;
}
