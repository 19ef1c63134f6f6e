/**
 * A stream of chat completion chunks as a stream of Anthropic messages.
 *
 * A chunk's delta has a field for each kind of content; Anthropic gives one block after the other. So a
 * block is opened when its first delta comes and closed when another kind, or another call, begins.
 */
import { isObject } from "../../shared/assert.js";
import { streamEventBytesMax } from "../../shared/bounds.js";
import { findUsage } from "../read-usage.js";
import { messagesErrorEvent } from "./error-events.js";
import { GuardedTranslator, parseEventData } from "./guarded-translator.js";
import { isAbsent } from "./refusals.js";
import { stopReason } from "./stop-reasons.js";
import { isProof, isThinkingBlock } from "./thinking-blocks.js";
import { messagesId, messagesServiceTier, stopDetails, textsOf, thoughtsOf, toolName, toolUseId } from "./to-messages-answer.js";
import { messagesUsage } from "./translate-usage.js";
import type { AnswerContext, JsonObject } from "./translation.js";
import { UntranslatableAnswer } from "./untranslatable-answer.js";

type OpenBlock =
  | { readonly kind: "text" }
  | { readonly kind: "thinking" }
  | { readonly kind: "call"; /** Its place among the calls, and its id, as the provider gave them. */ readonly place: unknown; readonly id: unknown };

export class ToMessagesEvents extends GuardedTranslator {
  readonly #context: AnswerContext;
  #begun = false;
  #open: OpenBlock | null = null;
  /** Blocks that were opened. */
  #blocks = 0;
  #calls = 0;
  /** Places and ids of the calls so far, as the provider gave them. */
  readonly #known = new Set<unknown>();
  #refusal = "";
  #usage: unknown = null;
  #tier: unknown = null;
  #finish: unknown = null;
  protected override readonly errorEvent = messagesErrorEvent;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
  }

  protected override read(_event: string | null, data: string): void {
    if (data.trim() === "[DONE]") this.#end();
    else this.#chunk(data);
  }

  /** Some providers leave `[DONE]` out. */
  protected override ended(): void {
    if (isAbsent(this.#finish)) throw new UntranslatableAnswer("the provider's stream ended before its answer did");
    this.#end();
  }

  #chunk(data: string): void {
    const chunk = parseEventData(data);
    if (!isAbsent(chunk["error"])) return this.fail(data, chunk);
    this.#usage = findUsage(chunk) ?? this.#usage;
    this.#tier = chunk["service_tier"] ?? this.#tier;
    // A chunk without choices tells usage, or what a filter saw.
    const choice: unknown = Array.isArray(chunk["choices"]) ? chunk["choices"][0] : undefined;
    if (!isObject(choice)) return;
    if (!this.#begun) this.#begin(chunk);
    if (isObject(choice["delta"])) this.#delta(choice["delta"]);
    this.#finish = choice["finish_reason"] ?? this.#finish;
  }

  /** What the input was is told at the end, when it is known. */
  #begin(chunk: JsonObject): void {
    this.#begun = true;
    this.#emit("message_start", {
      message: {
        id: messagesId(chunk["id"], this.#context),
        type: "message",
        role: "assistant",
        model: this.#context.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: this.#told(),
      },
    });
  }

  #delta(delta: JsonObject): void {
    const thoughts = thoughtsOf(delta);
    if (thoughts !== "") {
      if (this.#open?.kind !== "thinking") this.#openBlock({ kind: "thinking" }, { type: "thinking", thinking: "", signature: "" });
      this.#blockDelta({ type: "thinking_delta", thinking: thoughts });
    }
    if (Array.isArray(delta["thinking_blocks"])) delta["thinking_blocks"].filter(isThinkingBlock).filter(isProof).forEach((block) => this.#proof(block));
    for (const text of textsOf(delta["content"])) {
      if (text === "") continue;
      if (this.#open?.kind !== "text") this.#openBlock({ kind: "text" }, { type: "text", text: "" });
      this.#blockDelta({ type: "text_delta", text });
    }
    if (typeof delta["refusal"] === "string" && this.#refusal.length <= streamEventBytesMax) this.#refusal += delta["refusal"];
    if (Array.isArray(delta["tool_calls"])) for (const call of delta["tool_calls"] as readonly unknown[]) this.#call(call);
  }

  /** The signature of the thoughts that have just passed, or thoughts that nobody may read. */
  #proof(block: JsonObject): void {
    if (block["type"] === "redacted_thinking") {
      this.#openBlock({ kind: "thinking" }, { type: "redacted_thinking", data: block["data"] });
      return this.#closeBlock();
    }
    if (this.#open?.kind !== "thinking") {
      this.#openBlock({ kind: "thinking" }, { type: "thinking", thinking: "", signature: "" });
      if (block["thinking"] !== "") this.#blockDelta({ type: "thinking_delta", thinking: block["thinking"] });
    }
    this.#blockDelta({ type: "signature_delta", signature: block["signature"] });
    this.#closeBlock();
  }

  #call(value: unknown): void {
    if (!isObject(value)) throw new UntranslatableAnswer("the provider's stream holds a tool call that is no object");
    const called = isObject(value["function"]) ? value["function"] : {};
    if (this.#isAnother(value)) {
      const id = toolUseId(value["id"], this.#calls++, this.#context);
      this.#known.add(value["index"]).add(value["id"]);
      this.#openBlock({ kind: "call", place: value["index"], id: value["id"] }, { type: "tool_use", id, name: toolName(called["name"]), input: {} });
    }
    const text = called["arguments"];
    if (typeof text === "string" && text !== "") this.#blockDelta({ type: "input_json_delta", partial_json: text });
  }

  /** Whether a delta begins a call. Some providers give all calls one index, or none, and only the ids differ; some repeat the id. */
  #isAnother({ index, id }: JsonObject): boolean {
    const open = this.#open;
    if (open?.kind === "call" && (isAbsent(index) || index === open.place)) return !isAbsent(id) && id !== "" && id !== open.id;
    if (this.#known.has(isAbsent(id) || id === "" ? (index ?? null) : id)) throw new UntranslatableAnswer("the provider's stream goes back to a tool call that something else has followed");
    return true;
  }

  #openBlock(open: OpenBlock, block: JsonObject): void {
    this.#closeBlock();
    this.#open = open;
    this.#emit("content_block_start", { index: this.#blocks++, content_block: block });
  }

  #blockDelta(delta: JsonObject): void {
    this.#emit("content_block_delta", { index: this.#blocks - 1, delta });
  }

  #closeBlock(): void {
    if (this.#open === null) return;
    this.#open = null;
    this.#emit("content_block_stop", { index: this.#blocks - 1 });
  }

  /** Usage comes in a chunk of its own behind the last, so an answer is over only with its stream. */
  #end(): void {
    if (!this.#begun) throw new UntranslatableAnswer("the provider's stream ended without an answer");
    this.#closeBlock();
    const refusal = this.#refusal === "" ? null : this.#refusal;
    this.#emit("message_delta", {
      delta: { stop_reason: stopReason(this.#finish, this.#calls > 0, refusal !== null), stop_sequence: null, stop_details: stopDetails(refusal) },
      usage: this.#told(),
    });
    this.#emit("message_stop", {});
    this.close(null);
  }

  /** The usage as far as it is known. */
  #told(): JsonObject {
    const usage = messagesUsage(this.#usage);
    const tier = messagesServiceTier(this.#tier);
    return tier === undefined ? usage : Object.assign(usage, { service_tier: tier });
  }

  #emit(type: string, fields: JsonObject): void {
    this.send(type, Object.assign({ type }, fields));
  }
}
