/** Translates a complete response of the Responses API to a chat completion. */
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { errorBody } from "../../body/error-body.js";
import { chatAnnotation, readCitation } from "../shared/chat-pieces.js";
import { wrapReasoning } from "../shared/thinking-blocks.js";
import { chatUsage } from "../shared/translate-usage.js";
import {
  type AnswerContext,
  FailedAnswer,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { UniqueIds } from "../shared/unique-ids.js";

/** Throws `UntranslatableAnswer`. */
export function responsesAnswerToChat(body: JsonObject, context: AnswerContext): JsonObject {
  const { output } = body;
  if (!Array.isArray(output))
    throw new UntranslatableAnswer("the provider's answer is not a response: it has no output");
  const message = new MessageOfItems(context.provider);
  for (const item of output as readonly unknown[]) message.add(item);
  const out: Record<string, unknown> = {
    id: responseId(body["id"], context),
    object: "chat.completion",
    created: context.nowSeconds,
    model: context.model,
    choices: [
      {
        index: 0,
        message: message.asChat(),
        logprobs: message.logprobs,
        finish_reason: finishReasonOf(body, message.callCount > 0),
      },
    ],
  };
  const usage = chatUsage(body["usage"]);
  if (usage !== undefined) out["usage"] = usage;
  if (typeof body["service_tier"] === "string") out["service_tier"] = body["service_tier"];
  return out;
}

/** Keeps the provider's own id, by which the answer can be found there. */
export function responseId(id: unknown, { requestId }: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : `chatcmpl-${requestId}`;
}

/** How a response ended. Throws `FailedAnswer` if it failed. */
export function finishReasonOf(response: JsonObject, hasCalls: boolean): string {
  const { status, incomplete_details: details } = response;
  if (status === "failed" || status === "cancelled") {
    const { message } = errorBody(response) ?? {};
    throw new FailedAnswer(
      typeof message === "string" && message !== ""
        ? `the provider ended its answer with an error: ${message}`
        : "the provider ended its answer with an error",
    );
  }
  if (status === "incomplete")
    return isObject(details) && details["reason"] === "content_filter"
      ? "content_filter"
      : "length";
  return hasCalls ? "tool_calls" : "stop";
}

class MessageOfItems {
  readonly #provider: string;
  readonly #texts: string[] = [];
  readonly #refusals: string[] = [];
  readonly #thoughts: string[] = [];
  readonly #thinkingBlocks: JsonObject[] = [];
  readonly #calls: JsonObject[] = [];
  readonly #logprobs: unknown[] = [];
  readonly #annotations: JsonObject[] = [];
  readonly #ids = new UniqueIds();
  #chars = 0;

  constructor(provider: string) {
    this.#provider = provider;
  }

  get callCount(): number {
    return this.#calls.length;
  }

  get logprobs(): JsonObject | null {
    return this.#logprobs.length === 0 ? null : { content: this.#logprobs, refusal: null };
  }

  /** Ignores items of other types: the request had no tools that the provider runs. */
  add(item: unknown): void {
    if (!isObject(item))
      throw new UntranslatableAnswer("the provider's answer has an item that is not an object");
    switch (item["type"]) {
      case "message":
        return this.#addMessage(item);
      case "reasoning":
        return this.#addReasoning(item);
      case "function_call":
      case "custom_tool_call":
        this.#calls.push(callOf(item, this.#ids));
    }
  }

  #addMessage(item: JsonObject): void {
    for (const part of partsOf(item["content"])) {
      if (part["type"] === "refusal") this.#refusals.push(requiredText(part, "refusal"));
      else this.#addText(part);
      if (Array.isArray(part["logprobs"])) append(this.#logprobs, part["logprobs"]);
    }
  }

  #addText(part: JsonObject): void {
    const text = requiredText(part, "text");
    append(this.#annotations, annotationsOf(part, this.#chars));
    this.#chars += text.length;
    this.#texts.push(text);
  }

  #addReasoning(item: JsonObject): void {
    const thinking = thinkingOf(item);
    if (thinking !== "") this.#thoughts.push(thinking);
    const block = wrappedReasoning(item, thinking, this.#provider);
    if (block !== null) this.#thinkingBlocks.push(block);
  }

  asChat(): JsonObject {
    const refusal = this.#refusals.join("");
    const reasoning = this.#thoughts.join("");
    return {
      role: "assistant",
      content: this.#texts.length === 0 ? null : this.#texts.join(""),
      refusal: refusal === "" ? null : refusal,
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
      ...(this.#thinkingBlocks.length === 0 ? {} : { thinking_blocks: this.#thinkingBlocks }),
      ...(this.#annotations.length === 0 ? {} : { annotations: this.#annotations }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
    };
  }
}

/** The citations of a text that begins at `offset` in the text of the message. */
export function annotationsOf({ annotations }: JsonObject, offset: number): JsonObject[] {
  return partsOf(annotations).flatMap((annotation) => {
    const citation = readCitation(annotation, offset);
    return citation === null ? [] : [chatAnnotation(citation)];
  });
}

/** The separator of a summary's parts. */
export const betweenParts = "\n\n";

/** The summary of reasoning or, if there is none, its text, which open models give. */
export function thinkingOf(item: JsonObject): string {
  const summary = partsOf(item["summary"]).map((part) => requiredText(part, "text"));
  if (summary.length > 0) return summary.join(betweenParts);
  return partsOf(item["content"])
    .map((part) => requiredText(part, "text"))
    .join("");
}

/** Null if the provider encrypted no reasoning that it requires back. */
export function wrappedReasoning(
  { encrypted_content: encrypted }: JsonObject,
  thinking: string,
  provider: string,
): JsonObject | null {
  return typeof encrypted === "string" && encrypted !== ""
    ? wrapReasoning(encrypted, thinking, provider)
    : null;
}

function partsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A call in the form of chat completions. */
export function callOf(item: JsonObject, ids: UniqueIds): JsonObject {
  const id = ids.of(requiredText(item, "call_id"));
  const name = requiredText(item, "name");
  return item["type"] === "custom_tool_call"
    ? { id, type: "custom", custom: { name, input: requiredText(item, "input") } }
    : { id, type: "function", function: { name, arguments: requiredText(item, "arguments") } };
}

function requiredText(object: JsonObject, field: string): string {
  const text = object[field];
  if (typeof text !== "string")
    throw new UntranslatableAnswer(`the provider's answer has an item without ${field}`);
  return text;
}
