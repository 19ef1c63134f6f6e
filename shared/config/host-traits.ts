/**
 * What a host of chat completions, or of the Responses API, takes beyond what all of them take.
 * Translated requests are fitted to it; a client's own only where what the host refuses is known.
 *
 * The rows are from the hosts' own API references as of November 2026, else from their published
 * clients' types. What a *model* takes is in `proxy/dialects/fit/model-families.ts`.
 *
 * For the Responses API: console.groq.com/docs/responses-api ("Unsupported Features"),
 * openrouter.ai/docs/api_reference/responses (stateless, `store: true` is a 400), xAI's
 * `ModelInput` (router-for-me/CLIProxyAPI#4434, #5257), docs.fireworks.ai/guides/response-api.
 */

/** The field of a chat completion that limits its output. */
export type MaxTokensField = "max_tokens" | "max_completion_tokens";

/** Fields that some hosts refuse, and that an answer can do without. */
export type OptionalChatField =
  | "user"
  | "safety_identifier"
  | "prompt_cache_key"
  | "prompt_cache_retention"
  | "prompt_cache_options"
  | "verbosity"
  | "service_tier"
  | "parallel_tool_calls";

/** What a host refuses in a message, from any client. */
export interface NativeRules {
  /** Whether a field that it doesn't know, in a request or in a message, is refused. */
  readonly refusesUnknown: boolean;
  /** Of an assistant's message, beyond those that all take. */
  readonly assistantFields: readonly string[];
  /** Whether messages other than a tool's may have a `name`. */
  readonly takesNames: boolean;
  /** Whether it knows the role `developer`, which is OpenAI's name for `system`. */
  readonly takesDeveloper: boolean;
  /** Whether it knows that name for the limit of the output, whichever its own is. */
  readonly takesMaxCompletionTokens: boolean;
}

export interface ChatTraits {
  /** Whether it accepts `stream_options`; one that doesn't always reports the usage of a stream. */
  readonly takesStreamOptions: boolean;
  /** OpenAI's newer models refuse the old name, other servers don't know the new one. */
  readonly maxTokensField: MaxTokensField;
  readonly optionalFields: ReadonlySet<OptionalChatField>;
  /**
   * `reasoning_content` of the assistant's earlier messages: `required` where it called tools, or
   * refused. Hosts that ignore it count as `refused`, which saves the tokens.
   */
  readonly earlierReasoning: "required" | "taken" | "refused";
  /** Whether the arguments of an earlier call may be any text; else they must be a JSON object. */
  readonly takesAnyArguments: boolean;
  /** Whether a message's content may be a list of text parts, rather than one string. */
  readonly takesTextParts: boolean;
  /**
   * Where system messages may stand, and who may follow whom. `system_first`: one at the beginning,
   * as most templates of open models want. `alternating`: that, and no user message directly after
   * a tool's.
   */
  readonly messageOrder: "any" | "system_first" | "alternating";
  /** Ids of calls: `any`, at most 40 characters, or nine letters and digits. */
  readonly callIds: "any" | "forty_characters" | "nine_characters";
  /** Whether `response_format` may have a schema. */
  readonly takesOutputSchema: boolean;
  /**
   * Where OpenAI's newer models take tools and an effort together, which they do only in its
   * Responses API: there, nowhere, or in chat completions, since the host translates itself.
   */
  readonly reasoningWithTools: "in_responses" | "refused" | "taken";
  /** Whether it counts the tokens of an input, as OpenAI does: many that offer all else don't. */
  readonly countsTokens: boolean;
  /** Whether `tools` may be of the type `custom`, with free text as their input. */
  readonly takesCustomTools: boolean;
  /** Whether it reads Gemini's signatures of calls, which its models require back. */
  readonly takesSignatures: boolean;
  /** Null: a request in its own dialect passes as it came. */
  readonly native: NativeRules | null;
}

/** For hosts that ignore fields they don't know. */
export const lenientHost: NativeRules = {
  refusesUnknown: false,
  assistantFields: [],
  takesNames: true,
  takesDeveloper: true,
  takesMaxCompletionTokens: true,
};

export const strictHost: NativeRules = { ...lenientHost, refusesUnknown: true };

/** A host of which nothing else is known, such as a server of open models. */
export const plainChat: ChatTraits = {
  takesStreamOptions: true,
  maxTokensField: "max_tokens",
  optionalFields: new Set(["parallel_tool_calls"]),
  earlierReasoning: "taken",
  takesAnyArguments: false,
  takesTextParts: true,
  messageOrder: "system_first",
  callIds: "any",
  takesOutputSchema: true,
  reasoningWithTools: "refused",
  countsTokens: false,
  takesCustomTools: false,
  takesSignatures: false,
  native: null,
};

/** What OpenAI has added for itself, and its clients send unasked. */
export const openaiFields: readonly OptionalChatField[] = [
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "verbosity",
];

/** OpenAI's own, also at Azure. */
export const openaiChat: ChatTraits = {
  ...plainChat,
  maxTokensField: "max_completion_tokens",
  optionalFields: new Set([...openaiFields, "service_tier", "parallel_tool_calls"]),
  earlierReasoning: "refused",
  takesAnyArguments: true,
  messageOrder: "any",
  callIds: "forty_characters",
  reasoningWithTools: "in_responses",
  countsTokens: true,
  takesCustomTools: true,
};

/**
 * The Responses API is OpenAI's; others have parts of it, and what they lack is mostly what Sluice
 * can do at the same host in chat completions.
 */
export interface ResponsesTraits {
  /**
   * Whether it knows the tools that OpenAI has made for its own agents, and the items of their
   * calls: `custom`, `namespace`, `tool_search`. `own_models`: where the model is OpenAI's.
   */
  readonly agentTools: "taken" | "refused" | "own_models";
  /** Whether it keeps responses: a request may continue one, and refer to its items. */
  readonly stores: boolean;
  /** Fields that it refuses, and that an answer can do without. */
  readonly refusedFields: readonly string[];
}

export const openaiResponses: ResponsesTraits = {
  agentTools: "taken",
  stores: true,
  refusedFields: [],
};

/** A host of which nothing is known: a relay before OpenAI, or a server of open models. */
export const plainResponses: ResponsesTraits = { ...openaiResponses, agentTools: "own_models" };
