/** Translates a complete chat completion to a response. */
import { isObject } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";
import { findUsage } from "../../usage/find-usage.js";
import { chatPieces } from "../shared/chat-pieces.js";
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
  const choice = firstChoice(body);
  builder.noteUsage(findUsage(body), body["service_tier"]);
  if (choice === null) {
    const error = errorBody(body);
    if (error !== null) return builder.end({ status: "failed", error: responseError(error) });
    throw new UntranslatableAnswer("the provider's answer has no choices");
  }
  for (const piece of chatPieces(choice, "message", context.provider)) builder.add(piece);
  return builder.end(readEnding(choice["finish_reason"], choice));
}

/**
 * The choice of an answer or a chunk; null if it has none. Sluice requests one choice, and ignores
 * others.
 */
export function firstChoice(body: JsonObject): JsonObject | null {
  const choices = body["choices"];
  if (!Array.isArray(choices)) return null;
  for (const choice of choices) if (isObject(choice) && (choice["index"] ?? 0) === 0) return choice;
  return null;
}
