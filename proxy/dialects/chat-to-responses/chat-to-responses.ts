/**
 * The client speaks chat completions, and the model does what it is asked only in the Responses
 * API: the client's chat request is translated to a request of that API, whose response, or its
 * stream of events, is translated back to a chat completion.
 *
 * Nothing is stored at the provider. What a reasoning model needs back of its own reasoning it
 * encrypts, and clients carry it: see `thinking-blocks.ts`.
 *
 * The file names say which way each translation goes. The opposite pair is `responses-to-chat/`.
 */
import { responseAsEvents } from "../translation/answer-as-events.js";
import type { Translation } from "../translation/translation.js";
import { chatRequestToResponses } from "./chat-request-to-responses.js";
import { responsesAnswerToChat } from "./responses-answer-to-chat.js";
import { ResponsesStreamToChat } from "./responses-stream-to-chat.js";

export const chatToResponses: Translation = {
  repeats: [],
  request: chatRequestToResponses,
  answer: responsesAnswerToChat,
  asEvents: responseAsEvents,
  events: (context) => new ResponsesStreamToChat(context),
};
