/** For a client that speaks chat completions and a provider that speaks Anthropic messages. */
import { toChatAnswer } from "./to-chat-answer.js";
import { ToChatEvents } from "./to-chat-events.js";
import { toMessagesRequest } from "./to-messages-request.js";
import type { Translation } from "./translation.js";

export const chatToMessages: Translation = {
  request: toMessagesRequest,
  answer: toChatAnswer,
  events: (context) => new ToChatEvents(context),
};
