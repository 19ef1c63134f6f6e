/** The paths of a provider's operations, below its base URL. */
import type { ProviderConfig } from "../../shared/config/config.js";
import { googleMethods, isGoogleOperation, type Operation } from "../../shared/operation.js";
import {
  isCleanQuery,
  passedQuery,
  withoutGoogleParameters,
  withoutParameter,
} from "./passthrough-path.js";

type OfGoogle = keyof typeof googleMethods;

const paths: Readonly<Record<Exclude<Operation, OfGoogle>, string>> = {
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
  realtime: "/realtime",
};

/** Where clients call an operation, at Sluice as at the provider. */
export function clientPath(operation: Exclude<Operation, OfGoogle>): string {
  return `/v1${paths[operation]}`;
}

/** Azure's dated API has these below the deployment that a request names, and no others. */
const ofDeployment: ReadonlySet<Operation> = new Set<Operation>([
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
 * With its leading slash, and the client's query without credentials and Google's parameters. The
 * API version is the provider's, whatever version the client names.
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
  if (apiVersion === null) return query === "" ? path : `${path}${passedQuery(clean(query), null)}`;
  const deployment = ofDeployment.has(operation) ? `/deployments/${encodeURIComponent(model)}` : "";
  const sentQuery = passedQuery(withoutParameter(clean(query), "api-version"), apiVersion);
  return `${deployment}${path}${sentQuery}`;
}

/**
 * Google's parameters can leave the usage out of an answer, or make it no JSON. Of a client's, the
 * form of its stream alone is sent.
 */
function googleQuery(operation: OfGoogle, query: string): string {
  return operation === "stream_generate_content" && wantsEvents(query) ? "?alt=sse" : "";
}

/** Whether a client of Google's API wants a stream as events, by either name of that parameter. */
export function wantsEvents(query: string): boolean {
  return [...new URLSearchParams(query)].some(
    ([name, value]) => /^\$?alt$/i.test(name) && /^sse(?:;|$)/i.test(value),
  );
}

/**
 * Whether a model's name would be another path where it stands in one: a part of it is empty, or
 * one or two dots, which no encoding makes a name.
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
 * Without the parameters that aren't valid in a request line, such as one with a fragment, and
 * without Google's: any provider may be an API of Google's that speaks OpenAI's dialect.
 */
function clean(query: string): string {
  if (query === "") return query;
  const valid = isCleanQuery(query) ? query : query.split("&").filter(isCleanQuery).join("&");
  return withoutGoogleParameters(valid);
}
