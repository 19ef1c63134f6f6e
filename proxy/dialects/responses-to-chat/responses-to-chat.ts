/**
 * The client speaks the Responses API, the provider chat completions. The client's request is
 * translated to a chat request; the provider's chat completion, or its chunks, are translated back
 * to a response, or its stream of events. `docs/reference/dialects.md` lists what is
 * translated and what is refused.
 *
 * The file names say which way each translation goes: requests are `responses-…-to-chat`, answers
 * and streams `chat-…-to-responses`. Both of the latter are made by `response-builder.ts`.
 */
import { chatAnswerAsEvents } from "../translation/answer-as-events.js";
import type { Translation } from "../translation/translation.js";
import { chatAnswerToResponses } from "./chat-answer-to-responses.js";
import { ChatStreamToResponses } from "./chat-stream-to-responses.js";
import { hoistTools } from "./client-tools.js";
import { repeatedFields } from "./response-object.js";
import { responsesRequestToChat } from "./responses-request-to-chat.js";

export const responsesToChat: Translation = {
  repeats: repeatedFields,
  repeatedFrom: hoistTools,
  request: (body, options) => responsesRequestToChat(hoistTools(body), options),
  answer: chatAnswerToResponses,
  asEvents: chatAnswerAsEvents,
  events: (context) => new ChatStreamToResponses(context),
};
