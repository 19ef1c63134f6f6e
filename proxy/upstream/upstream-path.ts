/** Where a provider has its operations, below its base URL. */
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Operation } from "../../shared/operation.js";
import { isCleanQuery, passedQuery, withoutParameter } from "./passthrough-path.js";

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

/**
 * Azure's dated API keeps these below the deployment that a request names; what is left of its API
 * stands beside them.
 */
const ofDeployment: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "embeddings",
  "speech",
  "transcriptions",
  "translations",
  "images",
]);

/**
 * With its leading slash, and a query: the client's, if any is meant for the provider, without
 * credentials; and the version that the provider's API wants, whatever the client names.
 */
export function upstreamPath(
  { apiVersion }: ProviderConfig,
  operation: Operation,
  model: string,
  query = "",
): string {
  const path = paths[operation];
  if (apiVersion === null) return query === "" ? path : `${path}${passedQuery(clean(query), null)}`;
  return `${ofDeployment.has(operation) ? `/deployments/${encodeURIComponent(model)}` : ""}${path}${passedQuery(withoutParameter(clean(query), "api-version"), apiVersion)}`;
}

/**
 * Without the parameters that can't stand in a request as they are, such as one with a fragment
 * behind it.
 */
function clean(query: string): string {
  return isCleanQuery(query) ? query : query.split("&").filter(isCleanQuery).join("&");
}
