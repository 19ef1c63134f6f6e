/** A whole answer of Anthropic messages as a chat completion. */
import { isObject } from "../../../shared/assert.js";
import { jsonDepthMax } from "../../../shared/bounds.js";
import { writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-depth.js";
import { finishReason } from "../translation/stop-reasons.js";
import { isProof } from "../translation/thinking-blocks.js";
import { chatServiceTier, chatUsage } from "../translation/translate-usage.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../translation/translation.js";

/** Throws `UntranslatableAnswer`. */
export function messagesAnswerToChat(body: JsonObject, context: AnswerContext): JsonObject {
  const content = body["content"];
  if (!Array.isArray(content))
    throw new UntranslatableAnswer("the provider's answer is not a message: it has no content");
  const said = readBlocks(content as readonly unknown[]);
  const out: Record<string, unknown> = {
    id: chatId(body["id"], context),
    object: "chat.completion",
    created: context.nowSeconds,
    model: context.model,
    choices: [
      {
        index: 0,
        message: chatMessage(said, refusalOf(body)),
        logprobs: null,
        finish_reason: finishReason(body["stop_reason"]),
      },
    ],
  };
  const usage = chatUsage(body["usage"]);
  if (usage !== undefined) out["usage"] = usage;
  const tier = chatServiceTier(body["usage"]);
  if (tier !== undefined) out["service_tier"] = tier;
  return out;
}

/** The upstream's own id, by which it can be asked about the answer. */
export function chatId(id: unknown, context: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : `chatcmpl-${context.requestId}`;
}

/**
 * What an answer says beside its text when the model refused; null when it didn't, or said nothing.
 */
export function refusalOf({
  stop_reason: reason,
  stop_details: details,
}: JsonObject): string | null {
  const explanation = reason === "refusal" && isObject(details) ? details["explanation"] : null;
  return typeof explanation === "string" && explanation !== "" ? explanation : null;
}

interface Said {
  readonly texts: string[];
  readonly thoughts: string[];
  readonly thinkingBlocks: JsonObject[];
  readonly calls: JsonObject[];
}

function readBlocks(content: readonly unknown[]): Said {
  const said: Said = { texts: [], thoughts: [], thinkingBlocks: [], calls: [] };
  for (const block of content) {
    if (!isObject(block))
      throw new UntranslatableAnswer(
        "the provider's answer has a content block that is not an object",
      );
    switch (block["type"]) {
      case "text":
        said.texts.push(textOf(block, "text"));
        break;
      case "thinking":
        said.thoughts.push(textOf(block, "thinking"));
        said.thinkingBlocks.push({
          type: "thinking",
          thinking: block["thinking"],
          signature: typeof block["signature"] === "string" ? block["signature"] : "",
        });
        break;
      case "redacted_thinking":
        said.thinkingBlocks.push({ type: "redacted_thinking", data: textOf(block, "data") });
        break;
      case "tool_use":
        said.calls.push({
          id: textOf(block, "id"),
          type: "function",
          function: { name: textOf(block, "name"), arguments: inputText(block["input"]) },
        });
        break;
      default:
        throw unknownBlock(block["type"]);
    }
  }
  return said;
}

/** A block that nobody asked for: what it says would be lost. */
export function unknownBlock(type: unknown): UntranslatableAnswer {
  return new UntranslatableAnswer(
    `the provider's answer has a content block ${typed(type)}, which chat completions can't represent`,
  );
}

/** The same of a piece of a block. */
export function unknownDelta(type: unknown): UntranslatableAnswer {
  return new UntranslatableAnswer(
    `the provider's stream has a delta ${typed(type)}, which chat completions can't represent`,
  );
}

function typed(type: unknown): string {
  return typeof type === "string" ? `of type ${type.slice(0, 64)}` : "without a type";
}

export function textOf(block: JsonObject, field: string): string {
  const text = block[field];
  if (typeof text !== "string")
    throw new UntranslatableAnswer(`the provider's answer has a content block without ${field}`);
  return text;
}

/** A tool's input as the text that chat completions have. */
export function inputText(input: unknown): string {
  if (!isObject(input) || nestedDeeperThan(input, jsonDepthMax))
    throw new UntranslatableAnswer(
      "the provider's answer calls a tool with an input that is not an object or is nested too deeply",
    );
  return writeExactly(input);
}

function chatMessage(
  { texts, thoughts, thinkingBlocks, calls }: Said,
  refusal: string | null,
): JsonObject {
  const message: Record<string, unknown> = {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join(""),
    refusal,
  };
  const reasoning = thoughts.join("");
  if (reasoning !== "") message["reasoning_content"] = reasoning;
  if (thinkingBlocks.some(isProof)) message["thinking_blocks"] = thinkingBlocks;
  if (calls.length > 0) message["tool_calls"] = calls;
  return message;
}
