/** For a client that speaks Anthropic messages and a provider that speaks chat completions. */

import type { Translation } from "../translation/translation.js";
import { completionAsEvents } from "../translation/whole-as-events.js";
import { toChatRequest } from "./to-chat-request.js";
import { toMessagesAnswer } from "./to-messages-answer.js";
import { ToMessagesEvents } from "./to-messages-events.js";

export const messagesToChat: Translation = {
  request: toChatRequest,
  answer: toMessagesAnswer,
  asEvents: completionAsEvents,
  events: (context) => new ToMessagesEvents(context),
};
