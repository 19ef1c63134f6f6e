/**
 * Which of a provider's operations answers what a client asks for: the same one, or another one
 * with a translation between them.
 */
import { type Operation, operations } from "../../shared/operation.js";
import { chatToMessages } from "./chat-to-messages/chat-to-messages.js";
import { composeTranslations } from "./compose-translations.js";
import { messagesToChat } from "./messages-to-chat/messages-to-chat.js";
import { responsesToChat } from "./responses-to-chat/responses-to-chat.js";
import type { Translation } from "./translation/translation.js";

/**
 * What the provider is asked, and how that becomes what the client asked for; without a translation
 * it is the same.
 */
export interface Dialect {
  readonly operation: Operation;
  readonly translation: Translation | null;
}

const untranslated = Object.fromEntries(
  operations.map((operation) => [operation, { operation, translation: null }]),
) as unknown as Readonly<Record<Operation, Dialect>>;

/** Best first. */
const translated: Readonly<Partial<Record<Operation, readonly Dialect[]>>> = {
  chat_completions: [{ operation: "messages", translation: chatToMessages }],
  messages: [{ operation: "chat_completions", translation: messagesToChat }],
  responses: [
    { operation: "chat_completions", translation: responsesToChat },
    { operation: "messages", translation: composeTranslations(responsesToChat, chatToMessages) },
  ],
};

/** Null: the provider can't be asked for this at all. */
export function chooseDialect(asked: Operation, offered: ReadonlySet<Operation>): Dialect | null {
  if (offered.has(asked)) return untranslated[asked];
  for (const dialect of translated[asked] ?? []) if (offered.has(dialect.operation)) return dialect;
  return null;
}
