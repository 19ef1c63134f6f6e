/**
 * Translates Anthropic's stream of events to a stream of chat completion chunks.
 *
 * Anthropic streams one content block after the other, so each delta belongs to the last block; the
 * indices aren't used, because those of other hosts, and once Anthropic's own (vercel/ai#11771),
 * are wrong. A chunk's delta has a field for each kind of block. A thinking block is sent as
 * `reasoning_content` while it arrives. When it ends it is sent again, complete and with its
 * signature, as `thinking_blocks`, so that the client can send it back.
 */
import { streamEventBytesMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";
import { hidesReasoning } from "../../body/requested-effort.js";
import { mergeUsage } from "../../usage/find-usage.js";
import { chatErrorEvent } from "../shared/error-events.js";
import { GuardedTranslator, parseEventData } from "../shared/guarded-translator.js";
import { finishReason } from "../shared/stop-reasons.js";
import { mustBeReturned, reasoningDetail, wantsDetails } from "../shared/thinking-blocks.js";
import type { ToolNames } from "../shared/tool-call.js";
import { chatServiceTier, chatUsage } from "../shared/translate-usage.js";
import {
  type AnswerContext,
  type ClientEvent,
  FailedAnswer,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { UniqueIds } from "../shared/unique-ids.js";
import {
  annotationsOf,
  chatId,
  clientNames,
  inputText,
  isOfServerTool,
  refusalOf,
  requiredText,
  unknownBlock,
  unknownDelta,
} from "./messages-answer-to-chat.js";

interface OpenThinking {
  readonly kind: "thinking";
  thinking: string;
  signature: string;
}

type OpenBlock =
  | OpenThinking
  | { readonly kind: "text"; readonly start: number; readonly citations: unknown[] }
  | { readonly kind: "silent" }
  | { readonly kind: "call"; readonly call: number; readonly input: unknown; hasDeltas: boolean };

/** More citations of one block are left out, so that a stream can't fill the memory. */
const citationsMax = 256;

const done: ClientEvent = { event: null, data: "[DONE]" };

export class MessagesStreamToChat extends GuardedTranslator {
  readonly #context: AnswerContext;
  readonly #names: ToolNames;
  readonly #hidesReasoning: boolean;
  #id: string;
  readonly #ids = new UniqueIds();
  /** The beginning of each chunk's JSON, up to its choices. */
  #chunkHead: string | null = null;
  #hasBegun = false;
  #open: OpenBlock | null = null;
  #calls = 0;
  /** The characters of text so far. */
  #chars = 0;
  #annotations = 0;
  /** How many thinking blocks were sent. */
  #thinkingBlocks = 0;
  #usage: unknown = null;
  #isStopped = false;
  protected override readonly errorEvent = chatErrorEvent;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
    this.#names = clientNames(context);
    this.#hidesReasoning = hidesReasoning(context.request);
    this.#id = chatId(null, context);
  }

  override get usage(): unknown {
    return this.#usage;
  }

  /** A stream may end without `message_stop`, which some relays omit. */
  protected override onEarlyEnd(): void {
    if (!this.#isStopped)
      throw new UntranslatableAnswer("the provider's stream ended before the answer was complete");
    this.#finish();
  }

  /** Ignores `ping` and unknown events, as Anthropic's documentation requires. */
  protected override read(event: string | null, data: string): void {
    const value = parseEventData(data);
    switch (value["type"] ?? event) {
      case "message_start":
        return this.#start(value["message"]);
      case "content_block_start":
        return this.#startBlock(value);
      case "content_block_delta":
        return this.#delta(value);
      case "content_block_stop":
        return this.#stopBlock();
      case "message_delta":
        return this.#messageDelta(value);
      case "message_stop":
        return this.#finish();
      case "error":
        return this.fail(data, value);
      default:
        if (errorBody(value) !== null) this.fail(data, value);
    }
  }

  #start(message: unknown): void {
    if (!isObject(message))
      throw new UntranslatableAnswer("the provider's stream begins without a message");
    const id = chatId(message["id"], this.#context);
    // Some gateways repeat the event (maximhq/bifrost#4556). Another message is another answer, of
    // which the first one's blocks would be a part (vercel/ai#18331).
    if (this.#hasBegun) {
      if (id !== this.#id)
        throw new UntranslatableAnswer("the provider's stream begins another message");
      this.#usage = mergeUsage(this.#usage, message["usage"]);
      return;
    }
    this.#id = id;
    this.#chunkHead = null;
    this.#usage = message["usage"];
    this.#begin();
  }

  #begin(): void {
    this.#hasBegun = true;
    this.#chunk({ role: "assistant", content: "" });
  }

  #startBlock(value: JsonObject): void {
    const block = value["content_block"];
    if (!isObject(block)) throw unknownBlock(null);
    if (!this.#hasBegun) this.#begin();
    if (this.#open !== null) this.#stopBlock();
    switch (block["type"]) {
      case "text":
        this.#open = {
          kind: "text",
          start: this.#chars,
          citations: Array.isArray(block["citations"])
            ? [...(block["citations"] as unknown[])]
            : [],
        };
        return this.#text(block["text"]);
      case "thinking":
        this.#open = {
          kind: "thinking",
          thinking: "",
          signature: typeof block["signature"] === "string" ? block["signature"] : "",
        };
        return this.#think(this.#open, block["thinking"]);
      case "redacted_thinking":
        this.#open = { kind: "silent" };
        return this.#sendThinkingBlock({
          type: "redacted_thinking",
          data: requiredText(block, "data"),
        });
      case "tool_use":
        this.#open = { kind: "call", call: this.#calls++, input: block["input"], hasDeltas: false };
        return this.#chunk({
          tool_calls: [
            {
              index: this.#open.call,
              id: this.#ids.of(requiredText(block, "id")),
              type: "function",
              function: { name: this.#names.original(requiredText(block, "name")), arguments: "" },
            },
          ],
        });
      default:
        if (!isOfServerTool(block)) throw unknownBlock(block["type"]);
        this.#open = { kind: "silent" };
    }
  }

  #delta(value: JsonObject): void {
    const { delta } = value;
    const open = this.#open;
    if (!isObject(delta) || open === null)
      throw new UntranslatableAnswer(
        "the provider's stream has a delta for a content block that isn't open",
      );
    switch (delta["type"]) {
      case "text_delta":
        return this.#text(requiredText(delta, "text"));
      case "citations_delta":
        if (open.kind === "text" && open.citations.length < citationsMax)
          open.citations.push(delta["citation"]);
        return;
      case "thinking_delta":
        if (open.kind === "thinking") this.#think(open, requiredText(delta, "thinking"));
        return;
      case "signature_delta":
        if (open.kind === "thinking" && fitsEvent(open))
          open.signature += requiredText(delta, "signature");
        return;
      case "input_json_delta":
        if (open.kind === "call") this.#arguments(open, requiredText(delta, "partial_json"));
        return;
      default:
        throw unknownDelta(delta["type"]);
    }
  }

  #text(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    this.#chars += text.length;
    this.#chunk({ content: text });
  }

  #think(open: OpenThinking, thinking: unknown): void {
    if (typeof thinking !== "string" || thinking === "") return;
    if (fitsEvent(open)) open.thinking += thinking;
    if (!this.#hidesReasoning) this.#chunk({ reasoning_content: thinking });
  }

  #arguments(open: OpenBlock & { readonly kind: "call" }, text: string): void {
    if (text === "") return;
    open.hasDeltas = true;
    this.#chunk({ tool_calls: [{ index: open.call, function: { arguments: text } }] });
  }

  #stopBlock(): void {
    const open = this.#open;
    this.#open = null;
    // A call without deltas has its input, usually an empty one, in its first event. A chat client
    // parses the arguments, so they mustn't be empty.
    if (open?.kind === "call" && !open.hasDeltas)
      this.#arguments(open, inputText(open.input ?? {}));
    if (open?.kind === "text") this.#annotate(open.citations, open.start);
    if (open?.kind !== "thinking" || !fitsEvent(open)) return;
    const { thinking, signature } = open;
    const block = { type: "thinking", thinking, signature };
    if (mustBeReturned(block)) this.#sendThinkingBlock(block);
  }

  /** OpenAI's Python SDK needs the `index` to assemble lists. */
  #annotate(citations: readonly unknown[], start: number): void {
    const annotations = annotationsOf(citations, start, this.#chars);
    if (annotations.length === 0) return;
    this.#chunk({
      annotations: annotations.map((annotation) => ({ index: this.#annotations++, ...annotation })),
    });
  }

  #sendThinkingBlock(block: JsonObject): void {
    if (this.#hidesReasoning) return;
    const index = this.#thinkingBlocks++;
    const details = wantsDetails(this.#context.request)
      ? { reasoning_details: [reasoningDetail(block, index)] }
      : null;
    this.#chunk({ thinking_blocks: [Object.assign({ index }, block)], ...details });
  }

  #messageDelta(value: JsonObject): void {
    const { delta, usage } = value;
    this.#usage = mergeUsage(this.#usage, usage);
    if (isObject(delta) && delta["stop_reason"]) this.#stop(delta);
  }

  #stop(delta: JsonObject): void {
    if (!this.#hasBegun) throw new FailedAnswer("the provider's stream ended without an answer");
    if (this.#isStopped) return;
    if (this.#open !== null) this.#stopBlock();
    this.#isStopped = true;
    const refusal = refusalOf(delta);
    this.#chunk(
      refusal === null ? {} : { refusal },
      finishReason(delta["stop_reason"], this.#calls > 0),
    );
  }

  #finish(): void {
    this.#stop({});
    const usage = chatUsage(this.#usage);
    if (usage !== undefined) this.#send([], usage);
    this.close(done);
  }

  #chunk(delta: JsonObject, finish: string | null = null): void {
    this.#send([{ index: 0, delta, logprobs: null, finish_reason: finish }], null);
  }

  #send(choices: readonly JsonObject[], usage: JsonObject | null): void {
    const tier = chatServiceTier(this.#usage);
    const service = tier === undefined ? "" : `,"service_tier":${JSON.stringify(tier)}`;
    // The common beginning of all chunks is formatted once, which halves the time.
    this.#chunkHead ??= this.#newChunkHead();
    this.sendText(
      null,
      `${this.#chunkHead}${JSON.stringify(choices)},"usage":${JSON.stringify(usage)}${service}}`,
    );
  }

  #newChunkHead(): string {
    const { nowSeconds: created, model } = this.#context;
    const head = { id: this.#id, object: "chat.completion.chunk", created, model };
    return `${JSON.stringify(head).slice(0, -1)},"choices":`;
  }
}

/** A longer block can't be sent as one event, so it isn't kept. Its text has been sent already. */
function fitsEvent({ thinking, signature }: OpenThinking): boolean {
  return thinking.length + signature.length <= streamEventBytesMax;
}
