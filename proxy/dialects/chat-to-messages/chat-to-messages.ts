/** For a client that speaks chat completions and a provider that speaks Anthropic messages. */

import type { Translation } from "../translation/translation.js";
import { messageAsEvents } from "../translation/whole-as-events.js";
import { toChatAnswer } from "./to-chat-answer.js";
import { ToChatEvents } from "./to-chat-events.js";
import { toMessagesRequest } from "./to-messages-request.js";

export const chatToMessages: Translation = {
  request: toMessagesRequest,
  answer: toChatAnswer,
  asEvents: messageAsEvents,
  events: (context) => new ToChatEvents(context),
};
