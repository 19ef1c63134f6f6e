/**
 * The client speaks Anthropic messages, the provider chat completions. The client's messages
 * request is translated to a chat request; the provider's chat completion, or its chunks, are
 * translated back to an Anthropic message, or its stream of events.
 *
 * The file names say which way each translation goes: requests are `messages-…-to-chat`, answers
 * and streams `chat-…-to-messages`. The opposite pair is `chat-to-messages/`.
 */
import { chatAnswerAsEvents } from "../translation/answer-as-events.js";
import { renamedTools } from "../translation/tool-call.js";
import type { Translation } from "../translation/translation.js";
import { chatAnswerToMessages } from "./chat-answer-to-messages.js";
import { ChatStreamToMessages } from "./chat-stream-to-messages.js";
import { messagesRequestToChat } from "./messages-request-to-chat.js";

export const messagesToChat: Translation = {
  repeats: ["tools"],
  repeatedFrom: ({ stream, tools }) => {
    const renamed = renamedTools(tools);
    return renamed.length === 0 ? { stream } : { stream, tools: renamed };
  },
  request: messagesRequestToChat,
  answer: chatAnswerToMessages,
  asEvents: chatAnswerAsEvents,
  events: (context) => new ChatStreamToMessages(context),
};
