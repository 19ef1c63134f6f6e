/**
 * Chooses which of a provider's operations serves a client's operation: the same one, or another
 * one with a translation between them.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Operation, operations } from "../../shared/operation.js";
import type { AskedOfResponses } from "../body/meaning/asked-of-responses.js";
import type { AskedReasoning } from "../body/meaning/asked-reasoning.js";
import { chatCountToGoogle } from "./chat-to-google/chat-count-to-google.js";
import { chatToMessages } from "./chat-to-messages/chat-to-messages.js";
import { chatToResponses } from "./chat-to-responses/chat-to-responses.js";
import { composeTranslations } from "./compose-translations.js";
import { countingBy } from "./count-translations.js";
import { googleStreamToChat, googleToChat } from "./google-to-chat/google-to-chat.js";
import { messagesToChat } from "./messages-to-chat/messages-to-chat.js";
import { responsesToChat } from "./responses-to-chat/responses-to-chat.js";
import type { JsonObject, Translation } from "./translation/translation.js";
import { isOpenaiModel } from "./variants/model-families.js";
import { chatTraitsOf } from "./variants/target-traits.js";

/**
 * The operation that the provider is called with. `translation` is null when the client called the
 * same one.
 */
interface Dialect {
  readonly operation: Operation;
  readonly translation: Translation | null;
}

const untranslated = Object.fromEntries(
  operations.map((operation) => [operation, { operation, translation: null }]),
) as unknown as Readonly<Record<Operation, Dialect>>;

const overResponses: Readonly<Partial<Record<Operation, Dialect>>> = {
  chat_completions: { operation: "responses", translation: chatToResponses },
  messages: {
    operation: "responses",
    translation: composeTranslations(messagesToChat, chatToResponses),
  },
  generate_content: {
    operation: "responses",
    translation: composeTranslations(googleToChat, chatToResponses),
  },
  stream_generate_content: {
    operation: "responses",
    translation: composeTranslations(googleStreamToChat, chatToResponses),
  },
};

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
 * Null: the provider can't serve the operation. `needsResponses`: the model takes the request in
 * the Responses API alone, whatever else the provider offers.
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

/** Whether the Responses API is the only one in which the model does what it is asked. */
export function needsResponses(
  provider: Pick<ProviderConfig, "operations" | "chat" | "modelTraits">,
  model: string,
  { hasTools, effort }: AskedReasoning,
): boolean {
  const { operations: offered, chat, modelTraits } = provider;
  if (!offered.has("responses")) return false;
  if (chat.reasoningWithTools !== "in_responses" && modelTraits.length === 0) return false;
  const { reasoningWithTools, onlyInResponses } = chatTraitsOf(provider, model);
  if (reasoningWithTools !== "in_responses") return false;
  switch (onlyInResponses) {
    case "all":
      return true;
    case "reasoning_with_tools":
      return hasTools && effort !== "none";
    case "asked_reasoning_with_tools":
      return hasTools && effort === "some";
    default:
      return false;
  }
}

/**
 * What a provider offers a request, without its Responses API where that lacks what the request
 * asks for and it can be done, or refused with a word, in another dialect.
 */
export function offeredTo(
  provider: Pick<ProviderConfig, "operations" | "responses" | "nativeRequests">,
  model: string,
  { agentTools, stored }: AskedOfResponses,
): ReadonlySet<Operation> {
  const { operations: offered, responses, nativeRequests } = provider;
  if ((!agentTools && !stored) || nativeRequests === "untouched") return offered;
  const lacksTools =
    agentTools &&
    (responses.agentTools === "refused" ||
      (responses.agentTools === "own_models" && !isOpenaiModel(model)));
  if (!lacksTools && (!stored || responses.stores)) return offered;
  const others = new Set([...offered].filter((operation) => operation !== "responses"));
  return chooseDialect("responses", others) === null ? offered : others;
}
