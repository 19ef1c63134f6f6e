/**
 * The client speaks Gemini's own API, the provider chat completions. The client's request to
 * generate content is translated to a chat request; the provider's chat completion, or its chunks,
 * are translated back to a response of that API, or to its chunks.
 *
 * Whether an answer is streamed stands in the path there, so there is one translation for each of
 * the two methods. The file names say which way each goes: requests are `google-…-to-chat`, answers
 * `chat-…-to-google`.
 */
import { isObject } from "../../../shared/checked.js";
import { chatAnswerAsEvents } from "../translation/answer-as-events.js";
import { renamedTools } from "../translation/tool-call.js";
import type { JsonObject, Translation } from "../translation/translation.js";
import { chatAnswerToGoogle } from "./chat-answer-to-google.js";
import { ChatStreamToGoogle } from "./chat-stream-to-google.js";
import { googleRequestToChat } from "./google-request-to-chat.js";
import { declaredFunctions } from "./google-tools-to-chat.js";
import { camelFields } from "./proto-fields.js";

export const googleToChat: Translation = translationOf(false);
export const googleStreamToChat: Translation = translationOf(true);

function translationOf(stream: boolean): Translation {
  return {
    repeats: ["tools", "includeThoughts"],
    repeatedFrom: (body) => ({
      stream,
      tools: renamedTools(declaredFunctions(body)),
      includeThoughts: includesThoughts(body),
    }),
    request: (body, options) => googleRequestToChat(body, stream, options),
    answer: chatAnswerToGoogle,
    asEvents: chatAnswerAsEvents,
    events: (context) => new ChatStreamToGoogle(context),
  };
}

/** Whether the client wants to see what the model thought. */
function includesThoughts(body: JsonObject): boolean {
  const { generationConfig } = camelFields(body);
  const { thinkingConfig } = isObject(generationConfig) ? camelFields(generationConfig) : {};
  return isObject(thinkingConfig) && camelFields(thinkingConfig)["includeThoughts"] === true;
}
