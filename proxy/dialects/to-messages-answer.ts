/** A whole chat completion as an answer of Anthropic messages. */
import { isObject } from "../../shared/assert.js";
import { stopReason } from "./stop-reasons.js";
import { isThinkingBlock } from "./thinking-blocks.js";
import { readToolInput } from "./to-messages-turns.js";
import { messagesUsage } from "./translate-usage.js";
import type { AnswerContext, JsonObject } from "./translation.js";
import { UntranslatableAnswer } from "./untranslatable-answer.js";

/** Throws `UntranslatableAnswer`. */
export function toMessagesAnswer(body: JsonObject, context: AnswerContext): JsonObject {
  const choices = body["choices"];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const message = isObject(choice) ? choice["message"] : undefined;
  if (!isObject(choice) || !isObject(message)) throw new UntranslatableAnswer("the provider's answer is no chat completion: it has no message");
  const calls = toolUses(message["tool_calls"], choice["finish_reason"] === "length", context);
  const refusal = typeof message["refusal"] === "string" && message["refusal"] !== "" ? message["refusal"] : null;
  const usage = messagesUsage(body["usage"]);
  const tier = messagesServiceTier(body["service_tier"]);
  return {
    id: messagesId(body["id"], context),
    type: "message",
    role: "assistant",
    model: context.model,
    content: [...thinkingBlocks(message), ...textBlocks(message["content"]), ...calls],
    stop_reason: stopReason(choice["finish_reason"], calls.length > 0, refusal !== null),
    stop_sequence: null,
    stop_details: stopDetails(refusal),
    usage: tier === undefined ? usage : Object.assign(usage, { service_tier: tier }),
  };
}

/** The upstream's own id, by which it can be asked about the answer. */
export function messagesId(id: unknown, context: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : `msg_${context.requestId}`;
}

/** The place for what a model says when it refuses. */
export function stopDetails(refusal: string | null): JsonObject | null {
  return refusal === null ? null : { type: "refusal", category: null, explanation: refusal };
}

const tiers: ReadonlyMap<unknown, string> = new Map([["default", "standard"], ["priority", "priority"]]);

export function messagesServiceTier(tier: unknown): string | undefined {
  return tiers.get(tier);
}

/** The thoughts of a message or a delta; there is one name for them at DeepSeek and vLLM, another at OpenRouter and Groq. */
export function thoughtsOf(message: JsonObject): string {
  const thoughts = message["reasoning_content"] ?? message["reasoning"];
  return typeof thoughts === "string" ? thoughts : "";
}

/** The texts of a message's or a delta's content, which a few providers give as parts. */
export function textsOf(content: unknown): readonly string[] {
  if (content === undefined || content === null || content === "") return [];
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts.map((part) => {
    const text = isObject(part) && part["type"] === "text" ? part["text"] : part;
    if (typeof text !== "string") throw new UntranslatableAnswer("the provider's answer holds content that is no text");
    return text;
  });
}

/** With signatures, which only a provider that speaks for Anthropic's models gives, or as plain thoughts without. */
function thinkingBlocks(message: JsonObject): readonly JsonObject[] {
  const signed = message["thinking_blocks"];
  if (Array.isArray(signed)) return signed.filter(isThinkingBlock);
  const thoughts = thoughtsOf(message);
  return thoughts === "" ? [] : [{ type: "thinking", thinking: thoughts, signature: "" }];
}

function textBlocks(content: unknown): readonly JsonObject[] {
  return textsOf(content).map((text) => ({ type: "text", text }));
}

/** A call that the limit of tokens cut has no input yet; Anthropic gives such a block too, and `max_tokens` says not to run it. */
function toolUses(value: unknown, cut: boolean, context: AnswerContext): readonly JsonObject[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new UntranslatableAnswer("the provider's answer holds tool_calls that are no list");
  return (value as readonly unknown[]).map((call, i) => {
    const called = isObject(call) ? call["function"] : undefined;
    if (!isObject(call) || !isObject(called)) throw new UntranslatableAnswer("the provider's answer calls a tool that is no function");
    const input = (typeof called["arguments"] === "string" ? readToolInput(called["arguments"]) : null) ?? (cut ? {} : null);
    if (input === null) throw new UntranslatableAnswer("the provider's answer calls a tool with arguments that are no JSON object");
    return { type: "tool_use", id: toolUseId(call["id"], i, context), name: toolName(called["name"]), input };
  });
}

/** Some providers give none; the client needs one to tell the results apart. */
export function toolUseId(id: unknown, index: number, context: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : `toolu_${context.requestId}_${index}`;
}

export function toolName(name: unknown): string {
  if (typeof name !== "string" || name === "") throw new UntranslatableAnswer("the provider's answer calls a tool without a name");
  return name;
}
