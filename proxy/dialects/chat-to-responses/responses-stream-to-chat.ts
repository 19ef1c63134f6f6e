/**
 * Translates a stream of the Responses API to a stream of chat completion chunks.
 *
 * Each item streams its own deltas; a chunk's delta has a field for each kind. Content that an item
 * didn't stream is sent when the item is done: some hosts stream no arguments, or no text.
 */
import { streamEventBytesMax } from "../../../shared/bounds.js";
import { isCount, isObject } from "../../../shared/checked.js";
import { findUsage, mergeUsage } from "../../usage/find-usage.js";
import { chatErrorEvent } from "../shared/error-events.js";
import { GuardedTranslator, parseEventData } from "../shared/guarded-translator.js";
import { chatUsage } from "../shared/translate-usage.js";
import {
  type AnswerContext,
  type ClientEvent,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { UniqueIds } from "../shared/unique-ids.js";
import {
  annotationsOf,
  betweenParts,
  callOf,
  finishReasonOf,
  responseId,
  thinkingOf,
  wrappedReasoning,
} from "./responses-answer-to-chat.js";

const done: ClientEvent = { event: null, data: "[DONE]" };

export class ResponsesStreamToChat extends GuardedTranslator {
  readonly #context: AnswerContext;
  #id: string;
  readonly #ids = new UniqueIds();
  #hasBegun = false;
  /** The number of each call among the calls, by its index in the output. */
  readonly #calls = new Map<number, number>();
  /** The index of each item without an `output_index`, by its id. */
  readonly #indices = new Map<unknown, number>();
  #lastIndex = -1;
  /** The indices of the items of which some content has been sent. */
  readonly #streamed = new Set<number>();
  /** The text of the open reasoning item. A long text isn't kept, since it has been sent. */
  #thinking = "";
  #thinkingBlocks = 0;
  #annotations = 0;
  /** The characters of text so far, and those before the open part. */
  #chars = 0;
  #charsBefore = 0;
  #usage: unknown = null;
  #tier: string | null = null;
  protected override readonly errorEvent = chatErrorEvent;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
    this.#id = responseId(null, context);
  }

  override get heldBytes(): number {
    return this.#thinking.length;
  }

  override get usage(): unknown {
    return this.#usage;
  }

  protected override onEarlyEnd(): void {
    throw new UntranslatableAnswer("the provider's stream ended before the answer was complete");
  }

  /** Ignores events of other types: they repeat content, or report progress. */
  protected override read(event: string | null, data: string): void {
    if (data.trim() === "[DONE]") return;
    const value = parseEventData(data);
    switch (value["type"] ?? event) {
      // Nothing is sent yet: an error may still follow, and must then be the first event.
      case "response.created":
        if (isObject(value["response"]))
          this.#id = responseId(value["response"]["id"], this.#context);
        return;
      case "response.output_item.added":
        return this.#addItem(itemOf(value), this.#indexOf(value));
      case "response.content_part.added":
        this.#charsBefore = this.#chars;
        return;
      case "response.output_text.annotation.added":
        return this.#annotate({ annotations: [value["annotation"]] }, this.#charsBefore);
      case "response.output_text.delta":
        return this.#text(value, "content");
      case "response.refusal.delta":
        return this.#text(value, "refusal");
      case "response.reasoning_summary_part.added":
        if (this.#thinking !== "") this.#think(betweenParts);
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#streamed.add(this.#indexOf(value));
        return this.#think(deltaText(value["delta"]));
      case "response.function_call_arguments.delta":
        return this.#callInput(value, { function: { arguments: value["delta"] } });
      case "response.custom_tool_call_input.delta":
        return this.#callInput(value, { custom: { input: value["delta"] } });
      case "response.output_item.done":
        return this.#itemDone(itemOf(value), this.#indexOf(value));
      case "response.completed":
      case "response.incomplete":
      // Some relays end a stream with this event (can1357/oh-my-pi#4692).
      case "response.done":
        return this.#finish(value["response"]);
      case "response.failed":
        return this.#failed(data, value);
      case "error":
        return this.fail(data, isObject(value["error"]) ? value : { error: value });
    }
  }

  /**
   * The index in the output that an event refers to. llama.cpp sends none (ggml-org/llama.cpp
   * #20607): then the event belongs to the item that it names, else to the last one.
   */
  #indexOf({ output_index: index, item, item_id: itemId }: JsonObject): number {
    if (isCount(index)) return index;
    const id = isObject(item) ? item["id"] : itemId;
    const knownIndex = this.#indices.get(id);
    if (knownIndex !== undefined || !isObject(item)) return knownIndex ?? this.#lastIndex;
    this.#lastIndex += 1;
    this.#indices.set(id, this.#lastIndex);
    return this.#lastIndex;
  }

  #addItem(item: JsonObject, index: number): void {
    if (item["type"] === "reasoning") this.#thinking = "";
    if (!isCall(item)) return this.#begin();
    const call = this.#calls.size;
    this.#calls.set(index, call);
    // The input follows in deltas.
    const opened = callOf({ ...item, arguments: "", input: "" }, this.#ids);
    this.#chunk({ tool_calls: [{ index: call, ...opened }] });
  }

  #text(value: JsonObject, field: "content" | "refusal"): void {
    const { delta, logprobs } = value;
    this.#streamed.add(this.#indexOf(value));
    const text = deltaText(delta);
    if (field === "content") this.#chars += text.length;
    this.#chunk({ [field]: text }, null, logprobs);
  }

  /** OpenAI's Python SDK needs the `index` to assemble lists. */
  #annotate(part: JsonObject, offset: number): void {
    const annotations = annotationsOf(part, offset);
    if (annotations.length === 0) return;
    this.#chunk({
      annotations: annotations.map((annotation) => ({ index: this.#annotations++, ...annotation })),
    });
  }

  #think(text: string): void {
    if (this.#thinking.length <= streamEventBytesMax) this.#thinking += text;
    if (text !== "") this.#chunk({ reasoning_content: text });
  }

  #callInput(value: JsonObject, input: JsonObject): void {
    const index = this.#indexOf(value);
    const call = this.#calls.get(index);
    if (call === undefined)
      throw new UntranslatableAnswer(
        "the provider's stream has the input of a call that isn't open",
      );
    if (deltaText(value["delta"]) === "") return;
    this.#streamed.add(index);
    this.#chunk({ tool_calls: [{ index: call, ...input }] });
  }

  #itemDone(item: JsonObject, index: number): void {
    if (isCall(item) && !this.#calls.has(index)) this.#addItem(item, index);
    const isNew = !this.#streamed.has(index);
    if (item["type"] === "reasoning") this.#reasoningDone(item, isNew);
    else if (isNew && item["type"] === "message") this.#wholeMessage(item);
    else if (isNew && isCall(item)) this.#wholeInput(item, index);
    this.#streamed.add(index);
  }

  #wholeMessage({ content }: JsonObject): void {
    if (!Array.isArray(content)) return;
    for (const part of content.filter(isObject)) {
      const field = part["type"] === "refusal" ? "refusal" : "content";
      // A refusal has no text, but a field of its own.
      const text = part["text"] === undefined ? part["refusal"] : part["text"];
      const { logprobs } = part;
      if (text !== "") this.#chunk({ [field]: deltaText(text) }, null, logprobs);
      this.#annotate(part, this.#chars);
      if (field === "content") this.#chars += deltaText(text).length;
    }
  }

  #reasoningDone(item: JsonObject, isNew: boolean): void {
    if (isNew) this.#think(thinkingOf(item));
    const thinking = this.#thinking.length <= streamEventBytesMax ? this.#thinking : "";
    this.#thinking = "";
    const block = wrappedReasoning(item, thinking, this.#context.provider);
    // OpenAI's Python SDK needs the `index` to assemble lists.
    if (block !== null)
      this.#chunk({ thinking_blocks: [{ index: this.#thinkingBlocks++, ...block }] });
  }

  /** A chat client parses the arguments, so they mustn't be empty. */
  #wholeInput(item: JsonObject, index: number): void {
    const { arguments: callArguments, input } = item;
    const fullInput =
      item["type"] === "function_call"
        ? { function: { arguments: deltaText(callArguments) || "{}" } }
        : { custom: { input: deltaText(input) } };
    this.#chunk({ tool_calls: [{ index: this.#calls.get(index), ...fullInput }] });
  }

  /** Ends the stream with the error, which is within the response. */
  #failed(data: string, { response }: JsonObject): void {
    const { error } = isObject(response) ? response : {};
    this.#usage = mergeUsage(this.#usage, findUsage(response));
    if (isObject(error)) this.fail(JSON.stringify({ error }), { error });
    else this.fail(data, {});
  }

  #finish(response: unknown): void {
    if (!isObject(response))
      throw new UntranslatableAnswer("the provider's stream ends without a response");
    this.#usage = mergeUsage(this.#usage, findUsage(response));
    const { service_tier: tier, output } = response;
    if (typeof tier === "string") this.#tier = tier;
    // Some hosts give the answer only here.
    if (this.#streamed.size === 0 && this.#calls.size === 0 && Array.isArray(output))
      for (const [i, item] of output.filter(isObject).entries()) this.#itemDone(item, i);
    this.#chunk({}, finishReasonOf(response, this.#calls.size > 0));
    const usage = chatUsage(this.#usage);
    if (usage !== undefined) this.#send([], usage);
    this.close(done);
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#chunk({ role: "assistant", content: "" });
  }

  #chunk(delta: JsonObject, finish: string | null = null, logprobs: unknown = null): void {
    this.#begin();
    const content = Array.isArray(logprobs) && logprobs.length > 0 ? logprobs : null;
    const probs = content === null ? null : { content, refusal: null };
    this.#send([{ index: 0, delta, logprobs: probs, finish_reason: finish }], null);
  }

  #send(choices: readonly JsonObject[], usage: JsonObject | null): void {
    const chunk: Record<string, unknown> = {
      id: this.#id,
      object: "chat.completion.chunk",
      created: this.#context.nowSeconds,
      model: this.#context.model,
      choices,
      usage,
    };
    if (this.#tier !== null) chunk["service_tier"] = this.#tier;
    this.send(null, chunk);
  }
}

function isCall({ type }: JsonObject): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function itemOf({ item }: JsonObject): JsonObject {
  if (isObject(item)) return item;
  throw new UntranslatableAnswer("the provider's stream has an item that is not an object");
}

function deltaText(value: unknown): string {
  if (typeof value !== "string")
    throw new UntranslatableAnswer("the provider's stream has a delta that is not a text");
  return value;
}
