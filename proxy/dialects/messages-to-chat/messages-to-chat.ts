/** For a client that speaks Anthropic messages and a provider that speaks chat completions. */
import { toChatRequest } from "./to-chat-request.js";
import { toMessagesAnswer } from "./to-messages-answer.js";
import { ToMessagesEvents } from "./to-messages-events.js";
import type { Translation } from "../translation/translation.js";
import { completionAsEvents } from "../translation/whole-as-events.js";

export const messagesToChat: Translation = {
  request: toChatRequest,
  answer: toMessagesAnswer,
  asEvents: completionAsEvents,
  events: (context) => new ToMessagesEvents(context),
};
