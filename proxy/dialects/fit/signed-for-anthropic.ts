/**
 * Removes thinking that Anthropic didn't sign from a client's own request for Anthropic messages. A
 * conversation that began at another maker's model has such thinking, with a signature of Sluice's,
 * which Anthropic would refuse. All other fields stay byte for byte.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { parseBodyExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { RequestCheck } from "../shared/request-check.js";
import { carriesReasoning, noSignature } from "../shared/thinking-blocks.js";
import type { JsonObject } from "../shared/translation.js";
import { dropUnsignedThinking } from "./fit-messages-request.js";
import { type TunedBody, type TunedTarget, withMembers } from "./fit-tuning.js";
import { messagesModelTraits } from "./model-families.js";
import { messagesTraitsOf } from "./target-traits.js";

/** The beginnings, in JSON, of the signatures of other makers' thinking. */
const marks = [`"${noSignature}"`, '"openai_reasoning:'];

/** Whether the body may have such thinking, and goes to one of Anthropic's models. */
export function mayBeUnsigned(
  { provider, model }: Pick<TunedTarget, "provider" | "model">,
  bytes: Buffer,
): boolean {
  if (provider.nativeRequests === "untouched") return false;
  const isAnthropics = provider.type === "anthropic" || messagesModelTraits(model) !== null;
  return isAnthropics && marks.some((mark) => bytes.includes(mark));
}

/** `bytes`: a valid body of messages. Null if it has no such thinking. */
export function signedForAnthropic(
  provider: ProviderConfig,
  model: string,
  bytes: Buffer,
): TunedBody | null {
  if (!mayBeUnsigned({ provider, model }, bytes)) return null;
  const body = parseBodyExactly(bytes.toString("latin1"));
  if (!isObject(body) || nestedDeeperThan(body, jsonDepthMax)) return null;
  const given = body["messages"];
  if (!Array.isArray(given)) return null;
  const messages = given.flatMap(withSignedThinking);
  if (messages.length === given.length && messages.every((one, i) => one === given[i])) return null;
  const check = new RequestCheck(false);
  check.drop("messages[].content[]", "must be signed", "messages[].content[] (thinking)");
  const out: Record<string, unknown> = { ...body, messages };
  dropUnsignedThinking(out, messagesTraitsOf(provider, model), check);
  const changed = Object.keys(body).filter((name) => out[name] !== body[name]);
  const result = check.result(out);
  return result.ok ? { bytes: withMembers(bytes, changed, out), dropped: result.dropped } : null;
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
  return signature === noSignature || carriesReasoning(block);
}
