/**
 * Chooses which of a provider's operations serves a client's operation: the same one, or another
 * one and a translation between them.
 */
import { isObject } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Operation, operations } from "../../shared/operation.js";
import type { RequestedReasoning, ResponsesNeeds } from "../body/call-needs.js";
import { chatCountToGoogle } from "./chat-to-google/chat-count-to-google.js";
import { chatRequestToMessages } from "./chat-to-messages/chat-request-to-messages.js";
import { messagesAnswerToChat } from "./chat-to-messages/messages-answer-to-chat.js";
import { MessagesStreamToChat } from "./chat-to-messages/messages-stream-to-chat.js";
import { chatRequestToResponses } from "./chat-to-responses/chat-request-to-responses.js";
import { responsesAnswerToChat } from "./chat-to-responses/responses-answer-to-chat.js";
import { ResponsesStreamToChat } from "./chat-to-responses/responses-stream-to-chat.js";
import { composeTranslations } from "./compose-translations.js";
import { countingBy } from "./count-translations.js";
import { isOpenaiModel } from "./fit/model-families.js";
import { chatTraitsOf } from "./fit/target-traits.js";
import { chatAnswerToGoogle } from "./google-to-chat/chat-answer-to-google.js";
import { ChatStreamToGoogle } from "./google-to-chat/chat-stream-to-google.js";
import { camelFields } from "./google-to-chat/google-request-fields.js";
import { googleRequestToChat } from "./google-to-chat/google-request-to-chat.js";
import { declaredFunctions } from "./google-to-chat/google-tools-to-chat.js";
import { chatAnswerToMessages } from "./messages-to-chat/chat-answer-to-messages.js";
import { ChatStreamToMessages } from "./messages-to-chat/chat-stream-to-messages.js";
import { messagesRequestToChat } from "./messages-to-chat/messages-request-to-chat.js";
import { chatAnswerToResponses } from "./responses-to-chat/chat-answer-to-responses.js";
import { ChatStreamToResponses } from "./responses-to-chat/chat-stream-to-responses.js";
import { flatTools, hoistTools } from "./responses-to-chat/client-tools.js";
import { compactingBy } from "./responses-to-chat/compact-responses.js";
import { repeatedFields } from "./responses-to-chat/response-object.js";
import { wantsCompaction, withUpdates } from "./responses-to-chat/responses-input-to-chat.js";
import { responsesRequestToChat } from "./responses-to-chat/responses-request-to-chat.js";
import {
  chatAnswerAsEvents,
  messagesAnswerAsEvents,
  responseAsEvents,
} from "./shared/answer-as-events.js";
import { renamedFunctions, renamedTools } from "./shared/tool-call.js";
import type { JsonObject, Translation } from "./shared/translation.js";

/**
 * The operation with which the provider is called. `translation` is null if the client requested
 * the same one.
 */
interface Dialect {
  readonly operation: Operation;
  readonly translation: Translation | null;
}

// One translation for each pair of dialects, named client-to-provider. In each pair's folder the
// file names give the direction: requests go `client-…-to-provider`, answers and streams go
// `provider-…-to-client`.

export const chatToMessages: Translation = {
  echoedFields: ["tools", "reasoning"],
  echoSource: ({ stream, tools, reasoning }) => {
    const renamed = renamedFunctions(tools);
    return renamed.length === 0 ? { stream, reasoning } : { stream, reasoning, tools: renamed };
  },
  request: chatRequestToMessages,
  answer: messagesAnswerToChat,
  asEvents: messagesAnswerAsEvents,
  events: (context) => new MessagesStreamToChat(context),
};

/** For models that can serve the chat request only through the Responses API. */
export const chatToResponses: Translation = {
  echoedFields: [],
  request: chatRequestToResponses,
  answer: responsesAnswerToChat,
  asEvents: responseAsEvents,
  events: (context) => new ResponsesStreamToChat(context),
};

/**
 * Gemini's API has separate paths for answers and streams, so there is one translation for each.
 */
export const googleToChat: Translation = translationOf(false);
export const googleStreamToChat: Translation = translationOf(true);

function translationOf(stream: boolean): Translation {
  return {
    echoedFields: ["tools", "includeThoughts"],
    echoSource: (body) => ({
      stream,
      tools: renamedTools(declaredFunctions(body)),
      includeThoughts: includesThoughts(body),
    }),
    request: (body, options) => googleRequestToChat(body, stream, options),
    answer: chatAnswerToGoogle,
    asEvents: chatAnswerAsEvents,
    events: (context) => new ChatStreamToGoogle(context),
  };
}

/** Whether the client requested the model's thoughts. */
function includesThoughts(body: JsonObject): boolean {
  const { generationConfig } = camelFields(body);
  const { thinkingConfig } = isObject(generationConfig) ? camelFields(generationConfig) : {};
  return isObject(thinkingConfig) && camelFields(thinkingConfig)["includeThoughts"] === true;
}

export const messagesToChat: Translation = {
  echoedFields: ["tools"],
  echoSource: ({ stream, tools }) => {
    const renamed = renamedTools(tools);
    return renamed.length === 0 ? { stream } : { stream, tools: renamed };
  },
  request: messagesRequestToChat,
  answer: chatAnswerToMessages,
  asEvents: chatAnswerAsEvents,
  events: (context) => new ChatStreamToMessages(context),
};

export const responsesToChat: Translation = {
  // The last three decide which items the client gets to send back.
  echoedFields: [...repeatedFields, "include", "store", "compacts"],
  echoSource: (body) =>
    wantsCompaction(body) ? { ...plainRequest(body), compacts: true } : plainRequest(body),
  request: (body, options) => responsesRequestToChat(plainRequest(body), options),
  answer: chatAnswerToResponses,
  asEvents: chatAnswerAsEvents,
  events: (context) => new ChatStreamToResponses(context),
};

/** A request of the Responses API whose tools and settings are in their own fields. */
function plainRequest(body: JsonObject): JsonObject {
  return flatTools(hoistTools(withUpdates(body)));
}

const untranslated = Object.fromEntries(
  operations.map((operation) => [operation, { operation, translation: null }]),
) as unknown as Readonly<Record<Operation, Dialect>>;

const overResponses: Readonly<Partial<Record<Operation, Dialect>>> = {
  chat_completions: { operation: "responses", translation: chatToResponses },
  messages: {
    operation: "responses",
    translation: withSummary(composeTranslations(messagesToChat, chatToResponses), showsThinking),
  },
  generate_content: {
    operation: "responses",
    translation: withSummary(composeTranslations(googleToChat, chatToResponses), includesThoughts),
  },
  stream_generate_content: {
    operation: "responses",
    translation: withSummary(
      composeTranslations(googleStreamToChat, chatToResponses),
      includesThoughts,
    ),
  },
};

/**
 * Requests a summary of reasoning: models of the Responses API show their reasoning only as a
 * summary, and only on request. Chat completions, the middle dialect, have no field for that.
 */
function withSummary(
  translation: Translation,
  isAsked: (body: JsonObject) => boolean,
): Translation {
  return {
    ...translation,
    request(body, options) {
      const translated = translation.request(body, options);
      if (!translated.ok || !isAsked(body)) return translated;
      const { reasoning } = translated.body;
      const summarized = { ...(isObject(reasoning) ? reasoning : {}), summary: "auto" };
      return { ...translated, body: { ...translated.body, reasoning: summarized } };
    },
  };
}

/**
 * Whether the client gets thinking: by default Anthropic shows it if the request has a budget, and
 * omits it for newer models.
 */
function showsThinking({ thinking }: JsonObject): boolean {
  if (!isObject(thinking)) return false;
  const { type, display = type === "enabled" ? "summarized" : "omitted" } = thinking;
  return display === "summarized" && (type === "enabled" || type === "adaptive");
}

const responsesToMessages = composeTranslations(responsesToChat, chatToMessages);
const googleToMessages = composeTranslations(googleToChat, chatToMessages);
const inputTokens = (count: number): JsonObject => ({ input_tokens: count });
const responseTokens = (count: number): JsonObject => ({
  object: "response.input_tokens",
  input_tokens: count,
});
const totalTokens = (count: number): JsonObject => ({ totalTokens: count });

/** In order of preference. */
const translated: Readonly<Partial<Record<Operation, readonly Dialect[]>>> = {
  chat_completions: [
    { operation: "messages", translation: chatToMessages },
    overResponses.chat_completions!,
  ],
  messages: [
    { operation: "chat_completions", translation: messagesToChat },
    overResponses.messages!,
  ],
  responses: [
    { operation: "chat_completions", translation: responsesToChat },
    { operation: "messages", translation: responsesToMessages },
  ],
  compact: [
    { operation: "chat_completions", translation: compactingBy(responsesToChat) },
    { operation: "messages", translation: compactingBy(responsesToMessages) },
  ],
  generate_content: [
    { operation: "chat_completions", translation: googleToChat },
    { operation: "messages", translation: googleToMessages },
    overResponses.generate_content!,
  ],
  stream_generate_content: [
    { operation: "chat_completions", translation: googleStreamToChat },
    {
      operation: "messages",
      translation: composeTranslations(googleStreamToChat, chatToMessages),
    },
    overResponses.stream_generate_content!,
  ],
  count_tokens: [
    {
      operation: "input_tokens",
      translation: countingBy(overResponses.messages!.translation!, inputTokens),
    },
    {
      operation: "count_content_tokens",
      translation: countingBy(composeTranslations(messagesToChat, chatCountToGoogle), inputTokens),
    },
  ],
  input_tokens: [
    {
      operation: "count_tokens",
      translation: countingBy(responsesToMessages, responseTokens),
    },
    {
      operation: "count_content_tokens",
      translation: countingBy(
        composeTranslations(responsesToChat, chatCountToGoogle),
        responseTokens,
      ),
    },
  ],
  count_content_tokens: [
    { operation: "count_tokens", translation: countingBy(googleToMessages, totalTokens) },
    {
      operation: "input_tokens",
      translation: countingBy(overResponses.generate_content!.translation!, totalTokens),
    },
  ],
};

/**
 * Null if the provider can't serve the operation. `needsResponses`: the model takes the request
 * only through the Responses API, whatever else the provider offers.
 */
export function chooseDialect(
  requested: Operation,
  offered: ReadonlySet<Operation>,
  needsResponses = false,
): Dialect | null {
  const overOthers = needsResponses ? overResponses[requested] : undefined;
  if (overOthers !== undefined) return overOthers;
  if (offered.has(requested)) return untranslated[requested];
  for (const dialect of translated[requested] ?? [])
    if (offered.has(dialect.operation)) return dialect;
  return null;
}

/** Whether the model can serve the request only through the Responses API. */
export function needsResponses(
  provider: Pick<ProviderConfig, "operations" | "chat" | "modelTraits">,
  model: string,
  { hasTools, effort }: RequestedReasoning,
): boolean {
  const { operations: offered, chat, modelTraits } = provider;
  if (!offered.has("responses")) return false;
  if (chat.reasoningWithTools !== "in_responses" && modelTraits.length === 0) return false;
  const { reasoningWithTools, onlyInResponses, efforts } = chatTraitsOf(provider, model);
  if (reasoningWithTools !== "in_responses") return false;
  switch (onlyInResponses) {
    case "all":
      return true;
    case "reasoning_with_tools":
      return hasTools && (effort !== "none" || !efforts.includes("none"));
    case "asked_reasoning_with_tools":
      return hasTools && effort === "some";
    default:
      return false;
  }
}

/**
 * The operations that a provider offers for a request. The Responses API is left out if it lacks a
 * feature that the request needs, and if another dialect can serve the request or explain its
 * refusal.
 */
export function offeredTo(
  provider: Pick<ProviderConfig, "operations" | "responses" | "nativeRequests">,
  model: string,
  { usesAgentTools, stored }: ResponsesNeeds,
): ReadonlySet<Operation> {
  const { operations: offered, responses, nativeRequests } = provider;
  if ((!usesAgentTools && !stored) || nativeRequests === "untouched") return offered;
  const lacksTools =
    usesAgentTools &&
    (responses.agentTools === "refused" ||
      (responses.agentTools === "own_models" && !isOpenaiModel(model)));
  if (!lacksTools && (!stored || responses.stores)) return offered;
  const withoutResponses = new Set([...offered].filter((operation) => operation !== "responses"));
  return chooseDialect("responses", withoutResponses) === null ? offered : withoutResponses;
}

interface CallTraits {
  readonly reasoning: RequestedReasoning;
  readonly responsesNeeds: ResponsesNeeds;
}

/**
 * The dialect of one call at each target. It is read before the admission, and again to send the
 * call.
 */
export class CallDialects {
  readonly #operation: Operation;
  readonly #call: CallTraits;
  /** The last target, because nearly every call has only one. */
  #provider: ProviderConfig | null = null;
  #model = "";
  #lastDialect: ReturnType<typeof chooseDialect> = null;

  constructor(operation: Operation, call: CallTraits) {
    this.#operation = operation;
    this.#call = call;
  }

  /** Null if this target can't serve the call. */
  dialectAt(provider: ProviderConfig, model: string): ReturnType<typeof chooseDialect> {
    if (provider === this.#provider && model === this.#model) return this.#lastDialect;
    this.#provider = provider;
    this.#model = model;
    this.#lastDialect = this.#choose(provider, model);
    return this.#lastDialect;
  }

  #choose(provider: ProviderConfig, model: string): ReturnType<typeof chooseDialect> {
    const isNeeded = needsResponses(provider, model, this.#call.reasoning);
    const offered = offeredTo(provider, model, this.#call.responsesNeeds);
    const dialect = chooseDialect(this.#operation, offered, isNeeded);
    // An estimate is better than a 404 of a host that doesn't count tokens.
    const counts = dialect?.operation !== "input_tokens" || provider.chat.countsTokens;
    return counts || dialect.translation === null ? dialect : null;
  }
}
