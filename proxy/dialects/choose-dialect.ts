/**
 * Chooses which of a provider's operations serves a client's operation: the same one, or another
 * one with a translation between them.
 */
import { type Operation, operations } from "../../shared/operation.js";
import { chatToMessages } from "./chat-to-messages/chat-to-messages.js";
import { composeTranslations } from "./compose-translations.js";
import { messagesToChat } from "./messages-to-chat/messages-to-chat.js";
import { responsesToChat } from "./responses-to-chat/responses-to-chat.js";
import type { Translation } from "./translation/translation.js";

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

/** In order of preference. */
const translated: Readonly<Partial<Record<Operation, readonly Dialect[]>>> = {
  chat_completions: [{ operation: "messages", translation: chatToMessages }],
  messages: [{ operation: "chat_completions", translation: messagesToChat }],
  responses: [
    { operation: "chat_completions", translation: responsesToChat },
    { operation: "messages", translation: composeTranslations(responsesToChat, chatToMessages) },
  ],
};

/** Null: the provider can't serve the operation. */
export function chooseDialect(
  requested: Operation,
  offered: ReadonlySet<Operation>,
): Dialect | null {
  if (offered.has(requested)) return untranslated[requested];
  for (const dialect of translated[requested] ?? [])
    if (offered.has(dialect.operation)) return dialect;
  return null;
}
