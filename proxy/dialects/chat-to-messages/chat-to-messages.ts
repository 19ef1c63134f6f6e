/**
 * The client speaks chat completions, the provider Anthropic messages. The client's chat request is
 * translated to a messages request; Anthropic's answer, or its stream, is translated back to a chat
 * completion, or its chunks.
 *
 * The file names say which way each translation goes: requests are `chat-…-to-messages`, answers
 * and streams `messages-…-to-chat`. The opposite pair is `messages-to-chat/`.
 */
import { messagesAnswerAsEvents } from "../translation/answer-as-events.js";
import type { Translation } from "../translation/translation.js";
import { chatRequestToMessages } from "./chat-request-to-messages.js";
import { messagesAnswerToChat } from "./messages-answer-to-chat.js";
import { MessagesStreamToChat } from "./messages-stream-to-chat.js";

export const chatToMessages: Translation = {
  repeats: [],
  request: chatRequestToMessages,
  answer: messagesAnswerToChat,
  asEvents: messagesAnswerAsEvents,
  events: (context) => new MessagesStreamToChat(context),
};
