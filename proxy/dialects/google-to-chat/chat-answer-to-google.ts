/** Translates a complete chat completion to a response of Gemini's own API. */
import { isObject } from "../../../shared/checked.js";
import { answeredChoice, chatPieces } from "../shared/chat-pieces.js";
import { googleUsage } from "../shared/translate-usage.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { CandidateParts, type Finish } from "./candidate-parts.js";

/** Throws `UntranslatableAnswer`. */
export function chatAnswerToGoogle(body: JsonObject, context: AnswerContext): JsonObject {
  const choice = answeredChoice(body);
  if (!isObject(choice?.["message"]))
    throw new UntranslatableAnswer(
      "the provider's answer is not a chat completion: it has no message",
    );
  const parts: JsonObject[] = [];
  const candidate = new CandidateParts(context, (part) => void parts.push(part));
  for (const piece of chatPieces(choice, "message", context.provider)) candidate.add(piece);
  const finish = candidate.end(choice["finish_reason"]);
  return {
    ...ending(parts, finish),
    usageMetadata: googleUsage(body["usage"]),
    modelVersion: context.model,
    responseId: responseId(body["id"], context),
  };
}

/** The end of an answer: a candidate, or the reason why there is none. */
export function ending(parts: readonly JsonObject[], finish: Finish): JsonObject {
  const { finishMessage, isBlocked } = finish;
  if (!isBlocked) return { candidates: [lastCandidate(parts, finish)] };
  const blockReason = "SAFETY";
  return {
    promptFeedback:
      finishMessage === null ? { blockReason } : { blockReason, blockReasonMessage: finishMessage },
  };
}

/** Adds an empty part if there is none, because clients expect one in every content. */
function lastCandidate(
  parts: readonly JsonObject[],
  { finishReason, finishMessage, cited }: Finish,
): JsonObject {
  return {
    content: { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts },
    finishReason,
    ...(finishMessage === null ? {} : { finishMessage }),
    ...(cited.length === 0 ? {} : { groundingMetadata: { groundingChunks: cited } }),
    index: 0,
  };
}

/** Keeps the upstream's own id, by which the answer can be found there. */
export function responseId(id: unknown, context: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : context.requestId;
}
