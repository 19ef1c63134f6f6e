/** Translates a complete Anthropic message to a chat completion. */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { hidesReasoning } from "../../body/requested-effort.js";
import { chatAnnotation, readCitation } from "../shared/chat-pieces.js";
import { isWebUrl } from "../shared/data-url.js";
import { finishReason } from "../shared/stop-reasons.js";
import { mustBeReturned, reasoningDetail, wantsDetails } from "../shared/thinking-blocks.js";
import { messagesNameCharsMax, ToolNames } from "../shared/tool-call.js";
import { chatServiceTier, chatUsage } from "../shared/translate-usage.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { UniqueIds } from "../shared/unique-ids.js";

/** Throws `UntranslatableAnswer`. */
export function messagesAnswerToChat(body: JsonObject, context: AnswerContext): JsonObject {
  const content = body["content"];
  if (!Array.isArray(content))
    throw new UntranslatableAnswer("the provider's answer is not a message: it has no content");
  const parts = readBlocks(content as readonly unknown[], clientNames(context));
  const out: Record<string, unknown> = {
    id: chatId(body["id"], context),
    object: "chat.completion",
    created: context.nowSeconds,
    model: context.model,
    choices: [
      {
        index: 0,
        message: chatMessage(parts, refusalOf(body), context.request),
        logprobs: null,
        finish_reason: finishReason(body["stop_reason"], parts.calls.length > 0),
      },
    ],
  };
  const usage = chatUsage(body["usage"]);
  if (usage !== undefined) out["usage"] = usage;
  const tier = chatServiceTier(body["usage"]);
  if (tier !== undefined) out["service_tier"] = tier;
  return out;
}

/** Keeps the upstream's own id, by which the answer can be found at the provider. */
export function chatId(id: unknown, context: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : `chatcmpl-${context.requestId}`;
}

/** The names of the client's tools. Some of them are changed for Anthropic. */
export function clientNames({ request: { tools } }: AnswerContext): ToolNames {
  const names = Array.isArray(tools)
    ? tools.map((tool: unknown) =>
        isObject(tool) && isObject(tool["function"]) ? tool["function"]["name"] : undefined,
      )
    : [];
  return new ToolNames(names, messagesNameCharsMax);
}

/** The explanation of a refusal; null if the model didn't refuse, or gave no explanation. */
export function refusalOf({
  stop_reason: reason,
  stop_details: details,
}: JsonObject): string | null {
  const explanation = reason === "refusal" && isObject(details) ? details["explanation"] : null;
  return typeof explanation === "string" && explanation !== "" ? explanation : null;
}

interface MessageParts {
  readonly texts: string[];
  readonly annotations: JsonObject[];
  readonly thoughts: string[];
  readonly thinkingBlocks: JsonObject[];
  readonly calls: JsonObject[];
}

/**
 * The citations of a text from `start` to `end` of the message. Those of documents, which have no
 * address, are left out.
 */
export function annotationsOf(citations: unknown, start: number, end: number): JsonObject[] {
  if (!Array.isArray(citations)) return [];
  return citations.filter(isObject).flatMap(({ url, source, title }) => {
    const address = [url, source].find((candidate) => isWebUrl(String(candidate)));
    const fields = { url: address, title, start_index: start, end_index: end };
    const citation = readCitation(fields);
    return citation === null ? [] : [chatAnnotation(citation)];
  });
}

function readBlocks(content: readonly unknown[], names: ToolNames): MessageParts {
  const parts: MessageParts = {
    texts: [],
    annotations: [],
    thoughts: [],
    thinkingBlocks: [],
    calls: [],
  };
  const ids = new UniqueIds();
  let chars = 0;
  for (const block of content) {
    if (!isObject(block))
      throw new UntranslatableAnswer(
        "the provider's answer has a content block that is not an object",
      );
    switch (block["type"]) {
      case "text": {
        const text = requiredText(block, "text");
        parts.texts.push(text);
        const start = chars;
        chars += text.length;
        append(parts.annotations, annotationsOf(block["citations"], start, chars));
        break;
      }
      case "thinking":
        parts.thoughts.push(requiredText(block, "thinking"));
        parts.thinkingBlocks.push({
          type: "thinking",
          thinking: block["thinking"],
          signature: typeof block["signature"] === "string" ? block["signature"] : "",
        });
        break;
      case "redacted_thinking":
        parts.thinkingBlocks.push({ type: "redacted_thinking", data: requiredText(block, "data") });
        break;
      case "tool_use":
        parts.calls.push({
          id: ids.of(requiredText(block, "id")),
          type: "function",
          function: {
            name: names.original(requiredText(block, "name")),
            arguments: inputText(block["input"]),
          },
        });
        break;
      default:
        if (!isOfServerTool(block)) throw unknownBlock(block["type"]);
    }
  }
  return parts;
}

/**
 * Whether a block records the work of a tool that the provider ran unasked, as hosts of other
 * models do (Datus-ai/Datus-agent#1081). The text contains the outcome.
 */
export function isOfServerTool({ type }: JsonObject): boolean {
  return typeof type === "string" && /^(?:server_tool_use|\w{1,64}_tool_result)$/.test(type);
}

/** A block that no request asks for. Dropping it would lose its content. */
export function unknownBlock(type: unknown): UntranslatableAnswer {
  return new UntranslatableAnswer(
    `the provider's answer has a content block ${typeText(type)}, which chat completions can't represent`,
  );
}

/** As `unknownBlock`, for a stream's delta. */
export function unknownDelta(type: unknown): UntranslatableAnswer {
  return new UntranslatableAnswer(
    `the provider's stream has a delta ${typeText(type)}, which chat completions can't represent`,
  );
}

function typeText(type: unknown): string {
  return typeof type === "string" ? `of type ${type.slice(0, 64)}` : "without a type";
}

export function requiredText(block: JsonObject, field: string): string {
  const text = block[field];
  if (typeof text !== "string")
    throw new UntranslatableAnswer(`the provider's answer has a content block without ${field}`);
  return text;
}

/** A tool's input as a text, as chat completions have it. */
export function inputText(input: unknown): string {
  if (!isObject(input) || nestedDeeperThan(input, jsonDepthMax))
    throw new UntranslatableAnswer(
      "the provider's answer calls a tool with an input that is not an object or is nested too deeply",
    );
  return writeExactly(input);
}

function chatMessage(
  { texts, annotations, thoughts, thinkingBlocks, calls }: MessageParts,
  refusal: string | null,
  request: JsonObject,
): JsonObject {
  const message: Record<string, unknown> = {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join(""),
    refusal,
  };
  const isHidden = hidesReasoning(request);
  const reasoning = thoughts.join("");
  if (reasoning !== "" && !isHidden) message["reasoning_content"] = reasoning;
  if (thinkingBlocks.some(mustBeReturned) && !isHidden) {
    message["thinking_blocks"] = thinkingBlocks;
    if (wantsDetails(request)) message["reasoning_details"] = thinkingBlocks.map(reasoningDetail);
  }
  if (annotations.length > 0) message["annotations"] = annotations;
  if (calls.length > 0) message["tool_calls"] = calls;
  return message;
}
