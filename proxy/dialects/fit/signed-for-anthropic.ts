/**
 * Removes what Anthropic didn't sign from a client's own request for Anthropic messages: thinking
 * and citations. A conversation that began at another maker's model has them, with a signature of
 * Sluice's, which Anthropic would refuse. Other makers' models get such thinking back without it.
 */
import { isObject } from "../../../shared/checked.js";
import type { RequestCheck } from "../shared/request-check.js";
import { noSignature, wrapsReasoning } from "../shared/thinking-blocks.js";
import type { JsonObject } from "../shared/translation.js";
import { isOtherModel } from "./fit-messages.js";
import { dropUnsignedThinking } from "./fit-messages-request.js";
import type { FitStep, FitTarget } from "./fit-tuning.js";
import { messagesTraitsOf } from "./target-traits.js";

/** The beginnings, in JSON, of the signatures of other makers' thinking. */
const marks = [`"${noSignature}"`, '"openai_reasoning:', '"reasoning_detail:'];

/** Null if the body has neither. */
export function signedStep(target: FitTarget, bytes: Buffer): FitStep | null {
  if (target.provider.nativeRequests === "untouched") return null;
  if (!marks.some((mark) => bytes.includes(mark))) return null;
  return isOtherModel(target)
    ? unsignedForOthers
    : (body, check) => signedForAnthropic(body, target, check);
}

function unsignedForOthers(body: JsonObject, check: RequestCheck): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages) || !messages.some(hasForeign)) return body;
  const others = messages.flatMap((message: unknown): readonly unknown[] => {
    if (!hasForeign(message)) return [message];
    const content = message.content.flatMap((block) => {
      if (!isForeign(block)) return [block];
      const { type, thinking } = block;
      if (type === "thinking" && thinking !== "") return [{ type, thinking }];
      check.drop("messages[].content[]", "must be readable", "messages[].content[] (thinking)");
      return [];
    });
    return content.length === 0 ? [] : [{ ...message, content }];
  });
  return { ...body, messages: others };
}

function hasForeign(message: unknown): message is JsonObject & { readonly content: unknown[] } {
  return (
    isObject(message) &&
    message["role"] === "assistant" &&
    Array.isArray(message["content"]) &&
    message["content"].some(isForeign)
  );
}

function signedForAnthropic(
  body: JsonObject,
  { provider, model }: FitTarget,
  check: RequestCheck,
): JsonObject {
  const original = body["messages"];
  if (!Array.isArray(original)) return body;
  const messages = original.flatMap(withSignedThinking);
  if (
    messages.length === original.length &&
    messages.every((message, i) => message === original[i])
  )
    return body;
  if (original.some(hasForeign))
    check.drop("messages[].content[]", "must be signed", "messages[].content[] (thinking)");
  const out: Record<string, unknown> = { ...body, messages };
  dropUnsignedThinking(out, messagesTraitsOf(provider, model), check);
  return out;
}

/** Returns no message for one that has only such thinking: Anthropic refuses empty messages. */
function withSignedThinking(message: unknown): readonly unknown[] {
  if (!isObject(message) || message["role"] !== "assistant") return [message];
  const { content } = message;
  if (!Array.isArray(content) || !content.some((block) => isForeign(block) || citesUnsigned(block)))
    return [message];
  const signed = content.filter((block) => !isForeign(block)).map(withoutUnsigned);
  return signed.length === 0 ? [] : [{ ...message, content: signed }];
}

function isUnsignedCitation(citation: unknown): boolean {
  return isObject(citation) && citation["encrypted_index"] === noSignature;
}

function citesUnsigned(block: unknown): block is JsonObject & { readonly citations: unknown[] } {
  return (
    isObject(block) &&
    Array.isArray(block["citations"]) &&
    block["citations"].some(isUnsignedCitation)
  );
}

function withoutUnsigned(block: unknown): unknown {
  if (!citesUnsigned(block)) return block;
  const { citations, ...rest } = block;
  const signed = citations.filter((citation) => !isUnsignedCitation(citation));
  return signed.length === 0 ? rest : { ...rest, citations: signed };
}

function isForeign(block: unknown): block is JsonObject {
  if (!isObject(block)) return false;
  const { type, signature } = block;
  if (type !== "thinking" && type !== "redacted_thinking") return false;
  return signature === noSignature || wrapsReasoning(block);
}
