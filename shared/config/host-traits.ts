/**
 * The features of hosts of chat completions and of the Responses API beyond the common ones.
 * Translated requests are adapted to them; others only where the host is known to refuse something.
 *
 * The rows follow the hosts' own API references as of November 2026, else the types of their
 * published clients. `proxy/dialects/fit/model-families.ts` has the features of *models*.
 *
 * For the Responses API: console.groq.com/docs/responses-api ("Unsupported Features"),
 * openrouter.ai/docs/api_reference/responses (stateless, `store: true` is a 400), xAI's
 * `ModelInput` (router-for-me/CLIProxyAPI#4434, #5257), docs.fireworks.ai/guides/response-api.
 */

import type { Operation } from "../operation.js";

/** The field of a chat completion that limits its output. */
export type MaxTokensField = "max_tokens" | "max_completion_tokens";

/** Fields that some hosts refuse; requests can do without them. */
export type OptionalChatField =
  | "user"
  | "safety_identifier"
  | "prompt_cache_key"
  | "prompt_cache_retention"
  | "prompt_cache_options"
  | "verbosity"
  | "service_tier"
  | "parallel_tool_calls";

/** What a host refuses in requests that aren't translated. */
export interface NativeRules {
  /** Whether it refuses unknown fields in a request or a message. */
  readonly refusesUnknown: boolean;
  /** OpenAI's fields that it refuses; requests can do without them. */
  readonly refusedFields: readonly string[];
  /** Fields of an assistant's message that it accepts beyond the common ones. */
  readonly assistantFields: readonly string[];
  /** Whether messages of roles other than `tool` may have a `name`. */
  readonly takesNames: boolean;
  /** Whether it accepts the role `developer`, OpenAI's name for `system`. */
  readonly takesDeveloper: boolean;
  /** Whether it accepts `max_completion_tokens`, whichever name is its own. */
  readonly takesMaxCompletionTokens: boolean;
}

export interface ChatTraits {
  /**
   * Whether it accepts `stream_options`. A host that doesn't always reports the usage of a stream.
   */
  readonly takesStreamOptions: boolean;
  /** OpenAI's newer models refuse `max_tokens`; other servers don't know the newer name. */
  readonly maxTokensField: MaxTokensField;
  readonly optionalFields: ReadonlySet<OptionalChatField>;
  /** The most stop sequences that it accepts; null if it has no limit of its own. */
  readonly stopSequencesMax: number | null;
  /**
   * How it treats `reasoning_content` of earlier assistant messages. `required`: needed where the
   * assistant called tools. Hosts that ignore it count as `refused`, which saves the tokens.
   */
  readonly earlierReasoning: "required" | "taken" | "refused";
  /**
   * Whether the arguments of an earlier call may be any text; otherwise they must be a JSON object.
   */
  readonly takesAnyArguments: boolean;
  /** Whether a message's content may be a list of text parts, rather than one string. */
  readonly takesTextParts: boolean;
  /**
   * The order of messages. `system_first`: one system message at the beginning, as most templates
   * of open models require. `alternating`: also no user message directly after a tool's.
   */
  readonly messageOrder: "any" | "system_first" | "alternating";
  /** The ids of calls: any, at most 40 characters, or nine letters and digits. */
  readonly callIds: "any" | "forty_characters" | "nine_characters";
  /** Whether `response_format` may have a schema. */
  readonly takesOutputSchema: boolean;
  /** Whether such a schema may describe a list or a text; OpenAI accepts only objects. */
  readonly takesAnyOutputSchema: boolean;
  /**
   * Where OpenAI's newer models accept tools together with an effort. `in_responses`: only in the
   * Responses API, as at OpenAI itself. `refused`: nowhere, at a host without that API. `taken`: in
   * chat completions, too, which the host translates.
   */
  readonly reasoningWithTools: "in_responses" | "refused" | "taken";
  /** Whether it can count the tokens of an input, as OpenAI can; many compatible hosts can't. */
  readonly countsTokens: boolean;
  /** Whether `tools` may have the type `custom`, with free text as their input. */
  readonly takesCustomTools: boolean;
  /** Whether it reads or ignores OpenRouter's object `reasoning`; others refuse unknown fields. */
  readonly takesReasoningObject: boolean;
  /**
   * Where it accepts Gemini's call signatures, which Gemini models require back: in each call's
   * `extra_content`, or in the message's `reasoning_details`.
   */
  readonly signatures: "refused" | "in_calls" | "in_details";
  /** Null if a request in its own dialect passes unchanged. */
  readonly native: NativeRules | null;
}

/** For hosts that ignore unknown fields. */
export const lenientHost: NativeRules = {
  refusesUnknown: false,
  refusedFields: [],
  assistantFields: [],
  takesNames: true,
  takesDeveloper: true,
  takesMaxCompletionTokens: true,
};

/**
 * OpenAI's agents SDK sends `store` and `metadata` (ed-donner/agents#45, liliMozi/openhanako#394).
 */
export const strictHost: NativeRules = {
  ...lenientHost,
  refusesUnknown: true,
  refusedFields: ["store", "metadata", "prediction"],
};

/** A host without known traits, such as a server of open models. */
export const plainChat: ChatTraits = {
  takesStreamOptions: true,
  maxTokensField: "max_tokens",
  optionalFields: new Set(["parallel_tool_calls"]),
  stopSequencesMax: null,
  earlierReasoning: "taken",
  takesAnyArguments: false,
  takesTextParts: true,
  messageOrder: "system_first",
  callIds: "any",
  takesOutputSchema: true,
  takesAnyOutputSchema: true,
  reasoningWithTools: "refused",
  countsTokens: false,
  takesCustomTools: false,
  takesReasoningObject: true,
  signatures: "refused",
  native: null,
};

/**
 * vLLM and Ollama: the templates of open models know no role `developer`, so Ollama drops such a
 * message, with all instructions in it, and vLLM refuses it for many models.
 */
export const ownServerRules: NativeRules = { ...lenientHost, takesDeveloper: false };
export const ownServerChat: ChatTraits = { ...plainChat, native: ownServerRules };
/** Ollama ignores `max_completion_tokens`, and then has no limit (ollama/ollama#7125). */
export const ollamaRules: NativeRules = { ...ownServerRules, takesMaxCompletionTokens: false };
export const ollamaChat: ChatTraits = { ...plainChat, native: ollamaRules };

/** Fields that OpenAI has added for itself, and that its clients send by default. */
export const openaiFields: readonly OptionalChatField[] = [
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "verbosity",
];

/** OpenAI itself, and Azure. */
export const openaiChat: ChatTraits = {
  ...plainChat,
  takesAnyOutputSchema: false,
  maxTokensField: "max_completion_tokens",
  optionalFields: new Set([...openaiFields, "service_tier", "parallel_tool_calls"]),
  stopSequencesMax: 4,
  earlierReasoning: "refused",
  takesAnyArguments: true,
  messageOrder: "any",
  callIds: "forty_characters",
  reasoningWithTools: "in_responses",
  countsTokens: true,
  takesCustomTools: true,
  takesReasoningObject: false,
};

/**
 * Azure by the version of its API. Source: learn.microsoft.com, "Azure OpenAI API version
 * lifecycle", changes of 2024-09-01-preview and 2024-08-01-preview.
 */
export function azureChat(apiVersion: string | null): ChatTraits {
  if (apiVersion === null || !/^\d{4}-/.test(apiVersion) || apiVersion >= "2024-09")
    return openaiChat;
  return {
    ...openaiChat,
    takesStreamOptions: false,
    maxTokensField: "max_tokens",
    optionalFields: new Set(["user"]),
    takesOutputSchema: apiVersion >= "2024-08",
  };
}

/**
 * The Responses API is OpenAI's. Other hosts implement parts of it; most missing parts Sluice can
 * translate to chat completions at the same host.
 */
export interface ResponsesTraits {
  /**
   * Whether it accepts the tools made for OpenAI's own agents, and the items of their calls:
   * `custom`, `namespace`, `tool_search`. `own_models`: only for OpenAI's models.
   */
  readonly agentTools: "taken" | "refused" | "own_models";
  /** Whether it stores responses, so that a request may continue one and refer to its items. */
  readonly stores: boolean;
  /** Fields that it refuses; requests can do without them. */
  readonly refusedFields: readonly string[];
}

export const openaiResponses: ResponsesTraits = {
  agentTools: "taken",
  stores: true,
  refusedFields: [],
};

/** A host without known traits: a relay to OpenAI, or a server of open models. */
export const plainResponses: ResponsesTraits = { ...openaiResponses, agentTools: "own_models" };

/** Hosts of these operations that run a web search themselves; at others, all hosts do. */
export const searchingHosts: Readonly<Partial<Record<Operation, RegExp>>> = {
  chat_completions: /(?:^|\.)(?:perplexity|openrouter|x)\.ai$/,
  responses: /(?:^|\.)(?:openai\.com|azure\.com|x\.ai|openrouter\.ai)$/,
};
