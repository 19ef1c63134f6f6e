/** Translates a complete chat completion to a response. */
import { errorBody } from "../../body/error-body.js";
import { findUsage } from "../../usage/find-usage.js";
import { answeredChoice, chatPieces } from "../shared/chat-pieces.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { ResponseBuilder } from "./response-builder.js";
import { readEnding, responseError } from "./response-object.js";

/** An error in place of a choice becomes a failed response. Throws UntranslatableAnswer. */
export function chatAnswerToResponses(body: JsonObject, context: AnswerContext): JsonObject {
  const builder = new ResponseBuilder(context, () => {});
  const choice = answeredChoice(body);
  builder.noteUsage(findUsage(body), body["service_tier"]);
  if (choice === undefined) {
    const error = errorBody(body);
    if (error !== null) return builder.end({ status: "failed", error: responseError(error) });
    throw new UntranslatableAnswer("the provider's answer has no choices");
  }
  for (const piece of chatPieces(choice, "message", context.provider)) builder.add(piece);
  return builder.end(readEnding(choice["finish_reason"], choice));
}
