/** The paths of a provider's operations, below its base URL. */
import type { ProviderConfig } from "../../shared/config/config.js";
import { googleMethods, isGoogleOperation, type Operation } from "../../shared/operation.js";
import {
  isCleanQuery,
  passedQuery,
  withoutGoogleParameters,
  withoutParameter,
} from "./passthrough-path.js";

type GoogleOperation = keyof typeof googleMethods;

const paths: Readonly<Record<Exclude<Operation, GoogleOperation>, string>> = {
  chat_completions: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
  count_tokens: "/messages/count_tokens",
  completions: "/completions",
  compact: "/responses/compact",
  input_tokens: "/responses/input_tokens",
  embeddings: "/embeddings",
  moderations: "/moderations",
  rerank: "/rerank",
  speech: "/audio/speech",
  transcriptions: "/audio/transcriptions",
  translations: "/audio/translations",
  images: "/images/generations",
  image_edits: "/images/edits",
  image_variations: "/images/variations",
  files: "/files",
  batches: "/batches",
  uploads: "/uploads",
  containers: "/containers",
  conversations: "/conversations",
  message_files: "/files",
  message_batches: "/messages/batches",
  interactions: "/interactions",
  realtime: "/realtime",
};

/** The path at which clients call an operation, both at Sluice and at the provider. */
export function clientPath(operation: Exclude<Operation, GoogleOperation>): string {
  return `${operation === "interactions" ? "/v1beta" : "/v1"}${paths[operation]}`;
}

/** Azure's dated API offers these, and only these, below the deployment that a request names. */
const deploymentOperations: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "completions",
  "embeddings",
  "speech",
  "transcriptions",
  "translations",
  "images",
  "image_edits",
]);

/**
 * A path with its leading slash, and the client's query without credentials and Google's
 * parameters. The API version is always the provider's, never the client's.
 */
export function upstreamPath(
  { apiVersion }: ProviderConfig,
  operation: Operation,
  model: string,
  query = "",
): string {
  if (isGoogleOperation(operation)) {
    const name = model.split("/").map(encodeURIComponent).join("/");
    const place = name.startsWith("tunedModels/") ? name : `models/${name}`;
    return `/${place}:${googleMethods[operation]}${googleQuery(operation, query)}`;
  }
  const path = paths[operation];
  if (apiVersion === null)
    return query === "" ? path : `${path}${passedQuery(cleanQuery(query), null)}`;
  const deployment = deploymentOperations.has(operation)
    ? `/deployments/${encodeURIComponent(model)}`
    : "";
  const sentQuery = passedQuery(withoutParameter(cleanQuery(query), "api-version"), apiVersion);
  return `${deployment}${path}${sentQuery}`;
}

/**
 * Google's parameters can remove the usage from an answer, or turn it into something other than
 * JSON. Of the client's parameters, only the form of the stream is sent.
 */
function googleQuery(operation: GoogleOperation, query: string): string {
  return operation === "stream_generate_content" && wantsEvents(query) ? "?alt=sse" : "";
}

/** Whether a client of Google's API wants a stream as events, by either name of the parameter. */
export function wantsEvents(query: string): boolean {
  return [...new URLSearchParams(query)].some(
    ([name, value]) => /^\$?alt$/i.test(name) && /^sse(?:;|$)/i.test(value),
  );
}

/**
 * Whether a model's name would change the path that contains it: one of its segments is empty, or
 * consists of one or two dots, which no encoding makes a name.
 */
export function leavesPath(
  { apiVersion }: Pick<ProviderConfig, "apiVersion">,
  operation: Operation,
  model: string,
): boolean {
  const isInPath = isGoogleOperation(operation) || apiVersion !== null;
  return isInPath && model.split("/").some((part) => /^\.{0,2}$/.test(part));
}

/**
 * Removes parameters that aren't valid in a request line, such as one with a fragment, and Google's
 * parameters: any provider may be a Google API that speaks OpenAI's dialect.
 */
function cleanQuery(query: string): string {
  if (query === "") return query;
  const valid = isCleanQuery(query) ? query : query.split("&").filter(isCleanQuery).join("&");
  return withoutGoogleParameters(valid);
}
