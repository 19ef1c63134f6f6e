/** The types of providers, and for each the operations, the address and the header for the key. */

import { isGoogleOperation, type Operation, operations } from "../operation.js";
import {
  type ChatTraits,
  openaiChat,
  openaiResponses,
  plainChat,
  plainResponses,
  type ResponsesTraits,
  strictHost,
} from "./host-traits.js";

export const providerTypes = [
  "openai",
  "anthropic",
  "gemini",
  "azure",
  "ollama",
  "vllm",
  "simulator",
] as const;

export type ProviderType = (typeof providerTypes)[number];

/** The request header that carries the key; `authorization` as a bearer token. */
export type CredentialHeader = "authorization" | "x-api-key" | "api-key";

/** Who may send requests to `/p/{provider}/…`; an open gateway's callers are as the master key. */
export type PassthroughAccess = "off" | "master_key" | "all";

/** What happens to fields that the provider's dialect doesn't have: dropped, or refused. */
export const translationModes = ["lenient", "strict"] as const;

export type TranslationMode = (typeof translationModes)[number];

/** Whether a client's own request is fitted to what its host is known to refuse. */
export const nativeModes = ["fitted", "untouched"] as const;

export type NativeMode = (typeof nativeModes)[number];

interface TypeTraits {
  /** Null: there is no common address. */
  readonly baseUrl: string | null;
  readonly credentialHeader: CredentialHeader;
  readonly operations: readonly Operation[];
  /** Whether `GET /models` answers with the ids that requests may name. */
  readonly listsModels: boolean;
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
  /**
   * How long an idle connection is kept, where the provider doesn't say how long it keeps it
   * itself: uvicorn, which most Python servers run on, closes after 5 s.
   */
  readonly keepAliveMs: number;
}

/** Of the known services, whose load balancers close after a minute or later. */
export const serviceKeepAliveMs = 30_000;
const ownServerKeepAliveMs = 3_000;

/** Of Anthropic's API. */
const messagesOperations: readonly Operation[] = [
  "messages",
  "count_tokens",
  "message_files",
  "message_batches",
];
/** Of OpenAI's, and of servers that are compatible with it. */
const compatibleOperations = operations.filter(
  (operation) => !messagesOperations.includes(operation) && !isGoogleOperation(operation),
);
/** What others have added to it. */
export const openaiOperations = compatibleOperations.filter((operation) => operation !== "rerank");
const googleOperations = operations.filter(isGoogleOperation);
const notOfAzure: ReadonlySet<Operation> = new Set<Operation>(["moderations", "image_variations"]);

export const providerTraits: Readonly<Record<ProviderType, TypeTraits>> = {
  // Any OpenAI-compatible one. Its address is required: a typo must not send a key to OpenAI.
  openai: {
    baseUrl: null,
    credentialHeader: "authorization",
    operations: compatibleOperations,
    listsModels: true,
    chat: plainChat,
    responses: plainResponses,
    keepAliveMs: ownServerKeepAliveMs,
  },
  anthropic: {
    baseUrl: "https://api.anthropic.com/v1",
    credentialHeader: "x-api-key",
    operations: messagesOperations,
    listsModels: true,
    chat: plainChat,
    responses: plainResponses,
    keepAliveMs: serviceKeepAliveMs,
  },
  // Google's OpenAI-compatible endpoint, and beside it its own API.
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    credentialHeader: "authorization",
    operations: ["chat_completions", "embeddings", "images", ...googleOperations],
    listsModels: true,
    // An unknown field is a 400.
    chat: {
      ...plainChat,
      optionalFields: new Set(),
      earlierReasoning: "refused",
      takesSignatures: true,
      native: strictHost,
    },
    responses: plainResponses,
    keepAliveMs: serviceKeepAliveMs,
  },
  // It lists the models of the region, not the deployments that requests name.
  azure: {
    baseUrl: null,
    credentialHeader: "api-key",
    operations: openaiOperations.filter((operation) => !notOfAzure.has(operation)),
    listsModels: false,
    chat: openaiChat,
    responses: openaiResponses,
    keepAliveMs: serviceKeepAliveMs,
  },
  ollama: {
    baseUrl: "http://127.0.0.1:11434/v1",
    credentialHeader: "authorization",
    operations: ["chat_completions", "completions", "embeddings"],
    listsModels: true,
    chat: plainChat,
    responses: plainResponses,
    keepAliveMs: serviceKeepAliveMs,
  },
  vllm: {
    baseUrl: "http://127.0.0.1:8000/v1",
    credentialHeader: "authorization",
    operations: [
      "chat_completions",
      "completions",
      "embeddings",
      "rerank",
      "transcriptions",
      "translations",
    ],
    listsModels: true,
    chat: plainChat,
    responses: plainResponses,
    keepAliveMs: ownServerKeepAliveMs,
  },
  simulator: {
    baseUrl: null,
    credentialHeader: "authorization",
    operations: ["chat_completions"],
    listsModels: false,
    chat: plainChat,
    responses: plainResponses,
    keepAliveMs: ownServerKeepAliveMs,
  },
};

/** One of several keys, and how large its part of the calls is. */
export interface WeightedKey {
  readonly key: string;
  readonly weight: number;
}

/** One of several keys, in a file; its path is absolute in `ProviderConfig`. */
export interface WeightedKeyFile {
  readonly keyFile: string;
  readonly weight: number;
}

/** A header whose value is in a file; its path is absolute in `ProviderConfig`. */
export interface HeaderFile {
  readonly name: string;
  readonly path: string;
}
