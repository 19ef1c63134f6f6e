/**
 * Builds a response from the pieces of a chat completion, and emits each step as an event of the
 * Responses API. A complete answer is built from the same pieces with its events ignored, so that a
 * stream and a complete answer can't differ.
 *
 * One item is open at a time, as in the API: a piece of another kind closes it.
 */
import { unreachable } from "../../../shared/assert.js";
import { readableResponseBytesMax } from "../../../shared/bounds.js";
import { mergeUsage } from "../../usage/find-usage.js";
import type { CallPiece, ChatPiece, Logprob } from "../translation/chat-pieces.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../translation/translation.js";
import { CallTracker } from "./call-tracker.js";
import type { Ending } from "./response-ending.js";
import { type ResponseEvent, ResponseEventWriter } from "./response-event-writer.js";
import {
  type CallItem,
  type ContentItem,
  customCallItem,
  functionCallItem,
  type ItemStatus,
  isCall,
  type MessageItem,
  messageItem,
  type OutputItem,
  type ReasoningItem,
  type ReasoningPart,
  type RefusalPart,
  reasoningItem,
  type TextPart,
  textPart,
} from "./response-items.js";
import { idStem, type Progress, responseObject } from "./response-object.js";

/** Memory for a token's log probabilities, or for an output item, beside their text. */
const recordBytes = 512;

function bytesOf(piece: ChatPiece): number {
  const records = piece.kind === "text" ? piece.logprobs.length : piece.kind === "call" ? 1 : 0;
  return piece.text.length + records * recordBytes;
}

export class ResponseBuilder {
  readonly #context: AnswerContext;
  readonly #events: ResponseEventWriter;
  readonly #stem: string;
  readonly #output: OutputItem[] = [];
  #open: OutputItem | null = null;
  readonly #calls = new CallTracker();
  #usage: unknown = null;
  #serviceTier: string | null = null;
  /** Roughly the memory that the response takes so far. */
  bytes = 0;

  /** `emit` must write an event out at once: it holds items that change afterwards. */
  constructor(context: AnswerContext, emit: (event: ResponseEvent) => void) {
    this.#context = context;
    this.#events = new ResponseEventWriter(emit);
    this.#stem = idStem(context);
  }

  /** As the provider reported it so far; null: not yet. */
  get usage(): unknown {
    return this.#usage;
  }

  begin(): void {
    const response = this.#response({ status: "in_progress" });
    this.#events.response("created", response);
    this.#events.response("in_progress", response);
  }

  /** Of a chunk, or of a complete answer: its usage and its service tier, where it has them. */
  noteUsage(usage: unknown, serviceTier: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    if (typeof serviceTier === "string") this.#serviceTier = serviceTier;
  }

  /**
   * Throws UntranslatableAnswer for a piece that belongs to no item, or that makes the response too
   * large: its last event repeats all of it.
   */
  add(piece: ChatPiece): void {
    this.bytes += bytesOf(piece);
    if (this.bytes > readableResponseBytesMax)
      throw new UntranslatableAnswer(
        `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
      );
    switch (piece.kind) {
      case "reasoning":
        return this.#addReasoning(piece.text);
      case "text":
        return this.#addText(piece.text, piece.logprobs);
      case "refusal":
        return this.#addRefusal(piece.text);
      case "call":
        return this.#addCallPiece(piece);
      default:
        unreachable(piece);
    }
  }

  /** The finished response. When it failed, the open item stays open and is marked incomplete. */
  end(ending: Ending): JsonObject {
    const { status } = ending;
    if (status !== "failed") this.#closeItem(status);
    else if (this.#open !== null) this.#open.status = "incomplete";
    const response = this.#response(ending);
    this.#events.response(status, response);
    return response;
  }

  #response(progress: Progress): JsonObject {
    return responseObject(this.#context, {
      progress,
      output: this.#output,
      usage: this.#usage,
      serviceTier: this.#serviceTier,
    });
  }

  #addReasoning(text: string): void {
    const item =
      this.#open?.type === "reasoning"
        ? this.#open
        : this.#openItem(reasoningItem(this.#newItemId("rs")));
    const part = item.content[0] ?? this.#openReasoningPart(item);
    part.text += text;
    this.#events.reasoningDelta(item, this.#index, text);
  }

  #openReasoningPart(item: ReasoningItem): ReasoningPart {
    const part: ReasoningPart = { type: "reasoning_text", text: "" };
    item.content.push(part);
    this.#events.partAdded(item, this.#index, part);
    return part;
  }

  #addText(text: string, logprobs: readonly Logprob[]): void {
    const item = this.#openMessage();
    const part = this.#openTextPart(item);
    part.text += text;
    for (const logprob of logprobs) part.logprobs.push(logprob);
    this.#events.textDelta(item, this.#index, text, logprobs);
  }

  #openTextPart(item: MessageItem): TextPart {
    const last = item.content.at(-1);
    if (last?.type === "output_text") return last;
    this.#closePart(item);
    const part = textPart();
    item.content.push(part);
    this.#events.partAdded(item, this.#index, part);
    return part;
  }

  #addRefusal(text: string): void {
    const item = this.#openMessage();
    this.#openRefusalPart(item).refusal += text;
    this.#events.refusalDelta(item, this.#index, text);
  }

  #openRefusalPart(item: MessageItem): RefusalPart {
    const last = item.content.at(-1);
    if (last?.type === "refusal") return last;
    this.#closePart(item);
    const part: RefusalPart = { type: "refusal", refusal: "" };
    item.content.push(part);
    this.#events.partAdded(item, this.#index, part);
    return part;
  }

  #openMessage(): MessageItem {
    return this.#open?.type === "message"
      ? this.#open
      : this.#openItem(messageItem(this.#newItemId("msg")));
  }

  /** A call that is already closed can't be continued. */
  #addCallPiece(piece: CallPiece): void {
    const open = isCall(this.#open) ? this.#open : null;
    const index = this.#calls.indexOf(piece, open !== null);
    if (this.#calls.isNew(piece, index))
      return this.#addCallText(this.#openCall(piece, index), piece.text);
    if (open === null || !this.#calls.isLast(index))
      throw new UntranslatableAnswer(
        "the provider's answer continues a tool call after other content has followed it",
      );
    this.#addCallText(open, piece.text);
  }

  #openCall({ id, clientId, name, custom }: CallPiece, index: number): CallItem {
    if (name === null)
      throw new UntranslatableAnswer("the provider's answer calls a tool without a name");
    const callId = clientId ?? `call_${this.#stem}_${this.#output.length}`;
    this.#calls.begin(index, id ?? callId);
    return custom
      ? this.#openItem(customCallItem(this.#newItemId("ctc"), callId, name))
      : this.#openItem(functionCallItem(this.#newItemId("fc"), callId, name));
  }

  #addCallText(item: CallItem, text: string): void {
    if (text === "") return;
    if (item.type === "function_call") item.arguments += text;
    else item.input += text;
    this.#events.callDelta(item, this.#index, text);
  }

  /** Of the open item. */
  get #index(): number {
    return this.#output.length - 1;
  }

  /** Ends in the item's index, which makes it unique in the response. */
  #newItemId(prefix: string): string {
    return `${prefix}_${this.#stem}_${this.#output.length}`;
  }

  #openItem<T extends OutputItem>(item: T): T {
    this.#closeItem("completed");
    this.#output.push(item);
    this.#open = item;
    this.#events.itemAdded(item, this.#index);
    return item;
  }

  #closeItem(status: ItemStatus): void {
    const item = this.#open;
    if (item === null) return;
    if (isCall(item)) this.#closeCall(item, status);
    else this.#closePart(item);
    item.status = status;
    this.#open = null;
    this.#events.itemDone(item, this.#index);
  }

  #closePart(item: ContentItem): void {
    const part = item.content.at(-1);
    if (part !== undefined) this.#events.partDone(item, this.#index, part);
  }

  #closeCall(item: CallItem, status: ItemStatus): void {
    // A client parses the arguments, so a call without any gets an empty object.
    if (item.type === "function_call" && item.arguments === "" && status === "completed")
      this.#addCallText(item, "{}");
    this.#events.callDone(item, this.#index);
  }
}
