/** The types of providers, each with its operations, address and credential header. */

import { isNativeToGoogle, type Operation, operations } from "../operation.js";
import {
  type ChatTraits,
  ollamaChat,
  openaiChat,
  openaiResponses,
  ownServerChat,
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

/** `mcp`: a server under `mcp_servers`. */
export type ProviderType = (typeof providerTypes)[number] | "mcp";

/** The request header with the key; `authorization` has it as a bearer token. */
export type CredentialHeader = "authorization" | "x-api-key" | "api-key";

/** Who may use `/p/{provider}/…`; callers of an open gateway count as the master key. */
export type PassthroughAccess = "off" | "master_key" | "all";

/** Whether a translation drops fields that the provider's dialect lacks, or refuses them. */
export const translationModes = ["lenient", "strict"] as const;

export type TranslationMode = (typeof translationModes)[number];

/** Whether a client's own request is adapted to what its host is known to refuse. */
export const nativeModes = ["fitted", "untouched"] as const;

export type NativeMode = (typeof nativeModes)[number];

/** Whether translated requests to Anthropic's API get breakpoints of its prompt cache. */
export const cacheModes = ["auto", "off"] as const;

export type CacheMode = (typeof cacheModes)[number];

interface TypeTraits {
  /** Null if there is no common address. */
  readonly baseUrl: string | null;
  readonly credentialHeader: CredentialHeader;
  readonly operations: readonly Operation[];
  /** Whether `GET /models` lists the ids that requests may name. */
  readonly listsModels: boolean;
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
  /**
   * How long an idle connection is kept if the provider doesn't announce its own timeout: uvicorn,
   * which most Python servers use, closes after 5 s.
   */
  readonly keepAliveMs: number;
}

/** For the known services, whose load balancers close after a minute or later. */
export const serviceKeepAliveMs = 30_000;
const ownServerKeepAliveMs = 3_000;

/** The operations of Anthropic's API. */
const messagesOperations: readonly Operation[] = [
  "messages",
  "count_tokens",
  "message_files",
  "message_batches",
];
/** The operations of OpenAI's API and of compatible servers, with extensions. */
const compatibleOperations = operations.filter(
  (operation) => !messagesOperations.includes(operation) && !isNativeToGoogle(operation),
);
/** OpenAI's own, without the extensions of other servers. */
export const openaiOperations = compatibleOperations.filter((operation) => operation !== "rerank");
const googleOperations = operations.filter(isNativeToGoogle);
const notOfAzure: ReadonlySet<Operation> = new Set<Operation>(["moderations", "image_variations"]);

export const providerTraits: Readonly<Record<ProviderType, TypeTraits>> = {
  // Any OpenAI-compatible server. The address is required: a typo must not send a key to OpenAI.
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
  // Google's OpenAI-compatible endpoint, and its own API.
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    credentialHeader: "authorization",
    operations: ["chat_completions", "embeddings", "images", ...googleOperations],
    listsModels: true,
    // It answers 400 to an unknown field.
    chat: {
      ...plainChat,
      optionalFields: new Set(),
      earlierReasoning: "refused",
      takesReasoningObject: false,
      signatures: "in_calls",
      native: strictHost,
    },
    responses: plainResponses,
    keepAliveMs: serviceKeepAliveMs,
  },
  // Its list has the models of the region, not the deployments that requests name.
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
    chat: ollamaChat,
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
    chat: ownServerChat,
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
  mcp: {
    baseUrl: null,
    credentialHeader: "authorization",
    operations: [],
    listsModels: false,
    chat: plainChat,
    responses: plainResponses,
    keepAliveMs: ownServerKeepAliveMs,
  },
};

/** One of several keys, and its share of the calls. */
export interface WeightedKey {
  readonly key: string;
  readonly weight: number;
  /** As usage records have it; without one, its position. */
  readonly name?: string;
}

/** One of several keys, in a file; in `ProviderConfig` its path is absolute. */
export interface WeightedKeyFile {
  readonly keyFile: string;
  readonly weight: number;
  readonly name?: string;
}

/** A header whose value is in a file; in `ProviderConfig` its path is absolute. */
export interface HeaderFile {
  readonly name: string;
  readonly path: string;
}
