/**
 * Removes thinking that Anthropic didn't sign from a client's own request for Anthropic messages. A
 * conversation that began at another maker's model has such thinking, with a signature of Sluice's,
 * which Anthropic would refuse.
 */
import { isObject } from "../../../shared/checked.js";
import type { RequestCheck } from "../shared/request-check.js";
import { noSignature, wrapsReasoning } from "../shared/thinking-blocks.js";
import type { JsonObject } from "../shared/translation.js";
import { dropUnsignedThinking } from "./fit-messages-request.js";
import type { FitStep, FitTarget } from "./fit-tuning.js";
import { messagesModelTraits } from "./model-families.js";
import { messagesTraitsOf } from "./target-traits.js";

/** The beginnings, in JSON, of the signatures of other makers' thinking. */
const marks = [`"${noSignature}"`, '"openai_reasoning:', '"reasoning_detail:'];

/** Null if the body has no such thinking, or doesn't go to one of Anthropic's models. */
export function signedStep(target: FitTarget, bytes: Buffer): FitStep | null {
  const { provider, model } = target;
  if (provider.nativeRequests === "untouched") return null;
  const isAnthropics = provider.type === "anthropic" || messagesModelTraits(model) !== null;
  if (!isAnthropics || !marks.some((mark) => bytes.includes(mark))) return null;
  return (body, check) => signedForAnthropic(body, target, check);
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
  check.drop("messages[].content[]", "must be signed", "messages[].content[] (thinking)");
  const out: Record<string, unknown> = { ...body, messages };
  dropUnsignedThinking(out, messagesTraitsOf(provider, model), check);
  return out;
}

/** Returns no message for one that has only such thinking: Anthropic refuses empty messages. */
function withSignedThinking(message: unknown): readonly unknown[] {
  if (!isObject(message) || message["role"] !== "assistant") return [message];
  const { content } = message;
  if (!Array.isArray(content) || !content.some(isForeign)) return [message];
  const signed = content.filter((block) => !isForeign(block));
  return signed.length === 0 ? [] : [{ ...message, content: signed }];
}

function isForeign(block: unknown): block is JsonObject {
  if (!isObject(block)) return false;
  const { type, signature } = block;
  if (type !== "thinking" && type !== "redacted_thinking") return false;
  return signature === noSignature || wrapsReasoning(block);
}
