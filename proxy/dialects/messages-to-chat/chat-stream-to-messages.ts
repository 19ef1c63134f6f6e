/**
 * Translates a stream of chat completion chunks to Anthropic's stream of events.
 *
 * A chunk's delta has a field for each kind of content; Anthropic streams one block after the
 * other. So a block is opened at its first delta, and closed when another kind or another call
 * begins.
 */
import { streamEventBytesMax } from "../../../shared/bounds.js";
import { type Call, CallSequence } from "../shared/call-sequence.js";
import { type Citation, chatPieces, imageAsText } from "../shared/chat-pieces.js";
import { ChatStreamReader } from "../shared/chat-stream-reader.js";
import { messagesErrorEvent } from "../shared/error-events.js";
import { stopFields, stopReason, stopSequence } from "../shared/stop-reasons.js";
import { noSignature } from "../shared/thinking-blocks.js";
import type { ToolNames } from "../shared/tool-call.js";
import { messagesUsage } from "../shared/translate-usage.js";
import { type AnswerContext, FailedAnswer, type JsonObject } from "../shared/translation.js";
import {
  calledName,
  citedPage,
  messagesId,
  stopDetails,
  toolNames,
  toolUseId,
} from "./chat-answer-to-messages.js";

type OpenBlock =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; isSigned: boolean }
  | { readonly kind: "call" };

/** What a citation that is kept takes beside its texts. */
const recordChars = 256;

export class ChatStreamToMessages extends ChatStreamReader {
  readonly #context: AnswerContext;
  readonly #toolNames: ToolNames;
  #hasBegun = false;
  #open: OpenBlock | null = null;
  /** How many blocks have been opened. */
  #blocks = 0;
  readonly #sequence = new CallSequence({
    begin: (call) => this.#beginCall(call),
    text: (text) => this.#blockDelta({ type: "input_json_delta", partial_json: text }),
    end: () => this.#closeBlock(),
  });
  #calls = 0;
  /** Pages that are cited before the text. */
  #citations: JsonObject[] = [];
  #citationChars = 0;
  #refusal = "";
  #stopSequence: string | null = null;
  protected override readonly errorEvent = messagesErrorEvent;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
    this.#toolNames = toolNames(context);
  }

  protected override translate(choice: JsonObject, chunk: JsonObject): void {
    if (!this.#hasBegun) this.#begin(chunk);
    this.#delta(choice);
    this.#stopSequence ??= stopSequence(choice);
  }

  override get heldBytes(): number {
    return this.unsentChars + this.#citationChars;
  }

  override get unsentChars(): number {
    return this.#sequence.heldChars;
  }

  /** Begins the message. The usage is repeated at the end, when the input tokens are known. */
  #begin(chunk: JsonObject): void {
    this.#hasBegun = true;
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
        usage: messagesUsage(this.usage, this.tier),
      },
    });
  }

  #delta(choice: JsonObject): void {
    const pieces = chatPieces(choice, "delta", this.#context.provider);
    for (const piece of pieces) {
      if (piece.kind === "call") {
        this.#sequence.add(piece);
        continue;
      }
      if (piece.kind === "text" && piece.text === "") continue;
      if (piece.kind === "citation") {
        this.#cite(piece.citation);
        continue;
      }
      this.#sequence.end();
      if (piece.kind === "reasoning") this.#think(piece.text);
      else if (piece.kind === "signed") this.#signedThinking(piece.block);
      else if (piece.kind === "text") this.#text(piece.text);
      else if (piece.kind === "image") this.#image(piece.url);
      else if (this.#refusal.length <= streamEventBytesMax) this.#refusal += piece.text;
    }
  }

  #think(thinking: string): void {
    if (this.#open?.kind !== "thinking") this.#openThinking();
    this.#blockDelta({ type: "thinking_delta", thinking });
  }

  #text(text: string): void {
    if (text === "") return;
    if (this.#open?.kind !== "text") this.#openBlock({ kind: "text" }, { type: "text", text: "" });
    this.#blockDelta({ type: "text_delta", text });
    for (const citation of this.#citations) this.#blockDelta({ type: "citations_delta", citation });
    this.#citations = [];
    this.#citationChars = 0;
  }

  #cite(cited: Citation): void {
    const citation = citedPage(cited);
    if (this.#open?.kind === "text") {
      this.#blockDelta({ type: "citations_delta", citation });
      return;
    }
    this.#citations.push(citation);
    this.#citationChars += recordChars + cited.url.length + cited.title.length;
  }

  /** A block of its own: the text has ended. */
  #image(url: string): void {
    this.#closeBlock();
    this.#text(imageAsText(url));
    this.#closeBlock();
  }

  #openThinking(): void {
    this.#openBlock(
      { kind: "thinking", isSigned: false },
      { type: "thinking", thinking: "", signature: "" },
    );
  }

  /** Sends the signature of the open thinking block, or an encrypted block. */
  #signedThinking(block: JsonObject): void {
    if (block["type"] === "redacted_thinking") {
      this.#openBlock(
        { kind: "thinking", isSigned: true },
        { type: "redacted_thinking", data: block["data"] },
      );
      return this.#closeBlock();
    }
    if (this.#open?.kind !== "thinking") {
      this.#openThinking();
      if (block["thinking"] !== "")
        this.#blockDelta({ type: "thinking_delta", thinking: block["thinking"] });
    }
    this.#sign(block["signature"]);
    this.#closeBlock();
  }

  #sign(signature: unknown): void {
    if (this.#open?.kind === "thinking") this.#open.isSigned = true;
    this.#blockDelta({ type: "signature_delta", signature });
  }

  #beginCall(call: Call): void {
    this.#openBlock(
      { kind: "call" },
      {
        type: "tool_use",
        id: toolUseId(call, this.#calls, this.#context),
        name: this.#toolNames.original(calledName(call)),
        input: {},
      },
    );
    this.#calls++;
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
    if (this.#open.kind === "thinking" && !this.#open.isSigned) this.#sign(noSignature);
    this.#open = null;
    this.#emit("content_block_stop", { index: this.#blocks - 1 });
  }

  protected override complete(): void {
    if (!this.#hasBegun) throw new FailedAnswer("the provider's stream ended without an answer");
    this.#sequence.end();
    this.#closeBlock();
    const refusal = this.#refusal === "" ? null : this.#refusal;
    this.#emit("message_delta", {
      delta: {
        ...stopFields(
          stopReason(this.finish, this.#calls > 0, refusal !== null),
          this.#stopSequence,
        ),
        stop_details: stopDetails(refusal),
      },
      usage: messagesUsage(this.usage, this.tier),
    });
    this.#emit("message_stop", {});
    this.close(null);
  }

  #emit(type: string, fields: JsonObject): void {
    this.send(type, Object.assign({ type }, fields));
  }
}
